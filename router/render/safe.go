package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// UnsafeError is a value that cannot stand in HAProxy's files, or on its runtime
// socket, without meaning something else. Ingest lets none through; if it ever
// does, only the route that brought the value is to blame.
type UnsafeError struct {
	// Step would bring the value to HAProxy; it leads to the route that owns it.
	Step plan.Step
	Err  error
}

func (e *UnsafeError) Error() string { return "not written for HAProxy: " + e.Err.Error() }

func (e *UnsafeError) Unwrap() error { return e.Err }

// writeWords writes one line of the configuration. It is the only way of a
// route's values into that file.
func writeWords(b *bytes.Buffer, words ...string) error {
	for i, w := range words {
		if err := checkPlain(w); err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteByte('\n')
	return nil
}

// checkPlain returns why a text cannot be one word of the configuration or of
// the list of certificates as it is, without quotes.
func checkPlain(s string) error {
	if s == "" {
		return errors.New("an empty word")
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\\\"'#$;<>`", c) >= 0 {
			return fmt.Errorf("character %#02x in %q", c, shorten(s))
		}
	}
	return nil
}

// CheckEntry returns why a key cannot stand with its value in one line of a map.
func CheckEntry(key, value string) error {
	switch {
	case key == "" || value == "":
		return fmt.Errorf("an empty key or value beside %q", shorten(key+value))
	case strings.IndexByte(key, ' ') >= 0 || key[0] == '#':
		return fmt.Errorf("a space in, or # before, the key %q", shorten(key))
	case value[0] == ' ' || value[len(value)-1] == ' ':
		return fmt.Errorf("a space around the value %q", shorten(value))
	}
	return errors.Join(CheckText(key), CheckText(value))
}

// CheckText looks for what ends a line or a word for HAProxy, or for a program
// that reads its answers, and cannot be escaped.
func CheckText(s string) error {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return fmt.Errorf("control character %#02x in %q", s[i], shorten(s))
		}
	}
	return nil
}

// CheckPEM returns why a text cannot be a file of certificates, or the payload
// of a command: its lines are printable, none is
// empty, and there is one at least.
func CheckPEM(text string) error {
	if text == "" {
		return errors.New("an empty PEM text")
	}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if l == "" {
			return errors.New("an empty line in a PEM text")
		}
		if err := CheckText(l); err != nil {
			return err
		}
	}
	return nil
}

func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
