package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/regex"
)

// oneOf parses a value that must be one of a few words.
func oneOf[T ~string](field func(*Spec) *T, words ...T) func(*Spec, string) error {
	return func(s *Spec, v string) error {
		if !slices.Contains(words, T(v)) {
			return fmt.Errorf("must be %s", orList(words))
		}
		*field(s) = T(v)
		return nil
	}
}

// orList writes "a, b or c".
func orList[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

func parseLimit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxMaxConn || v[0] == '+' {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", maxMaxConn)
	}
	return n, nil
}

func parseBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

var cookieName = regex.Later(`^[A-Za-z0-9_-]{1,128}$`)

// maxMaxConn is far above what one endpoint can take, and below any limit of HAProxy.
const maxMaxConn = 1_000_000
