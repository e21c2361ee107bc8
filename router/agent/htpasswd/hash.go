package htpasswd

import (
	"crypto/sha1" //nolint:gosec // {SHA} and {SSHA} are what users bring along; {SHA} warns
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// defaultCost is bcrypt's cost for unknown users of files without bcrypt.
const defaultCost = 5

func sorted(users map[string]string) []string { return slices.Sorted(maps.Keys(users)) }

// parseHash returns a hash, or a reason and a message. With a hash, a reason is a
// warning.
func parseHash(text string) (h hash, reason, message string) {
	switch {
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		return parseBcrypt(text)
	case strings.HasPrefix(text, "$5$"), strings.HasPrefix(text, "$6$"):
		return parseSHACrypt(text)
	case strings.HasPrefix(text, "$1$"), strings.HasPrefix(text, "$apr1$"):
		return parseMD5Crypt(text)
	case strings.HasPrefix(text, "{SHA}"):
		sum, err := base64.StdEncoding.DecodeString(text[len("{SHA}"):])
		if err != nil || len(sum) != sha1.Size {
			return hash{}, Invalid, "{SHA} is not followed by the base64 of 20 bytes"
		}
		return hash{verify: verifySHA, sum: string(sum)}, WeakHash, "{SHA} has no salt and is fast to guess: use bcrypt (htpasswd -B)"
	case strings.HasPrefix(text, "{SSHA}"):
		sum, err := base64.StdEncoding.DecodeString(text[len("{SSHA}"):])
		if err != nil || len(sum) <= sha1.Size || len(sum) > sha1.Size+64 {
			return hash{}, Invalid, "{SSHA} is not followed by the base64 of 20 bytes and a salt of up to 64"
		}
		return hash{verify: verifySHA, sum: string(sum[:sha1.Size]), salt: string(sum[sha1.Size:])}, "", ""
	case strings.HasPrefix(text, "$"), strings.HasPrefix(text, "{"):
		return hash{}, Invalid, "unknown format; use bcrypt (htpasswd -B), SHA crypt ($5$, $6$), MD5 crypt ($apr1$, $1$) or {SSHA}"
	}
	return hash{}, WeakHash, "DES crypt or plain text: an attacker who reads the Secret has the password. Use bcrypt (htpasswd -B)"
}

func parseBcrypt(text string) (hash, string, string) {
	cost, err := bcrypt.Cost([]byte(text))
	switch {
	case err != nil || len(text) != 60 || strings.ContainsFunc(text[7:], func(r rune) bool { return !strings.ContainsRune(alphabet, r) }):
		return hash{}, Invalid, "not a bcrypt hash"
	case cost > MaxCost:
		return hash{}, Invalid, fmt.Sprintf("bcrypt's cost is %d; use up to %d", cost, MaxCost)
	}
	return hash{verify: verifyBcrypt, text: text, rounds: cost}, "", ""
}

// bcryptCost is what an unknown user has to cost as much as this one.
func (h hash) bcryptCost() int {
	if h.text == "" {
		return 0
	}
	return h.rounds
}

// dummy is a hash that no password has, of bcrypt's cost.
func dummy(cost int) hash {
	return hash{verify: verifyBcrypt, text: fmt.Sprintf("$2a$%02d$%s", cost, strings.Repeat(".", 22+31))}
}

// verifyBcrypt looks at the first 72 bytes, as bcrypt always did.
func verifyBcrypt(h hash, password string) bool {
	if len(password) > 72 {
		password = password[:72]
	}
	return bcrypt.CompareHashAndPassword([]byte(h.text), []byte(password)) == nil
}

func verifySHA(h hash, password string) bool {
	sum := sha1.Sum([]byte(password + h.salt)) //nolint:gosec // the user's format
	return same(string(sum[:]), h.sum)
}

func parseSHACrypt(text string) (hash, string, string) {
	kind, rest := text[1], text[3:]
	h := hash{verify: verifySHA256Crypt, rounds: 5000}
	size := 43
	if kind == '6' {
		h.verify, size = verifySHA512Crypt, 86
	}
	if after, ok := strings.CutPrefix(rest, "rounds="); ok {
		number, tail, _ := strings.Cut(after, "$")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1000 || n > MaxRounds {
			return hash{}, Invalid, fmt.Sprintf("rounds must be a number from 1000 to %d", MaxRounds)
		}
		h.rounds, rest = n, tail
	}
	var found bool
	h.salt, h.sum, found = strings.Cut(rest, "$")
	if !found || len(h.salt) > 16 || !inAlphabet(h.sum, size) {
		return hash{}, Invalid, "not a SHA crypt hash"
	}
	return h, "", ""
}

func verifySHA256Crypt(h hash, password string) bool {
	return same(shaCrypt(sha256Kind, password, h.salt, h.rounds), h.sum)
}

func verifySHA512Crypt(h hash, password string) bool {
	return same(shaCrypt(sha512Kind, password, h.salt, h.rounds), h.sum)
}

func parseMD5Crypt(text string) (hash, string, string) {
	h := hash{verify: verifyMD5Crypt}
	rest := strings.TrimPrefix(text, "$1$")
	if rest == text {
		h.verify, rest = verifyAPR1, strings.TrimPrefix(text, "$apr1$")
	}
	var found bool
	h.salt, h.sum, found = strings.Cut(rest, "$")
	if !found || len(h.salt) > 8 || !inAlphabet(h.sum, 22) {
		return hash{}, Invalid, "not an MD5 crypt hash"
	}
	return h, "", ""
}

func verifyMD5Crypt(h hash, password string) bool {
	return same(md5Crypt("$1$", password, h.salt), h.sum)
}

func verifyAPR1(h hash, password string) bool {
	return same(md5Crypt("$apr1$", password, h.salt), h.sum)
}

func inAlphabet(sum string, size int) bool {
	return len(sum) == size && !strings.ContainsFunc(sum, func(r rune) bool { return !strings.ContainsRune(alphabet, r) })
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
