// Package htpasswd reads files of users and hashed passwords, as Apache's htpasswd
// writes them, and verifies a password. It is pure.
//
// It accepts bcrypt up to cost 14, SHA-256 and SHA-512 crypt up to 200,000 rounds,
// MD5 crypt ($1$, $apr1$), {SSHA}, and {SHA} with a warning. It refuses DES crypt and
// plain text: an attacker who reads the Secret would have the passwords. A user with
// such a line cannot log in.
package htpasswd

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a file.
const (
	MaxUsers = 10_000
	MaxUser  = 256
	// MaxPassword bounds what SHA crypt hashes in each round.
	MaxPassword = 512
	MaxCost     = 14
	MaxRounds   = 200_000
)

// The reasons of problems.
const (
	WeakHash = "WeakHash"
	Invalid  = "SecretInvalid"
	TooMany  = "LimitExceeded"
)

// Problem is a line that is not used, or is used with a warning.
type Problem struct {
	Line    int
	User    string
	Reason  string
	Warning bool
	Message string
}

// File is a set of users.
type File struct {
	users map[string]hash
	// cost is what an unknown user costs.
	cost int
}

// hash is a parsed line.
type hash struct {
	verify func(h hash, password string) bool
	text   string
	salt   string
	sum    string
	rounds int
}

// Parse reads the text of a file: lines of USER:HASH, blank lines, and lines that
// begin with #. A user who stands twice has the first line, as in Apache and nginx.
func Parse(text string) (*File, []Problem) {
	f := &File{users: map[string]hash{}, cost: defaultCost}
	var problems []Problem
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		user, text, found := strings.Cut(line, ":")
		p := Problem{Line: number, User: shown(user), Reason: Invalid}
		if !found {
			// Without a colon it may be a password, which no message repeats.
			p.User, p.Message = "", "the line has no colon: write USER:HASH"
		} else if p = f.add(user, text); p.Reason != "" {
			p.Line = number
		}
		if p.Reason != "" {
			problems = append(problems, p)
		}
		if p.Reason == TooMany {
			break
		}
	}
	return f, problems
}

// ParseMap reads users and their hashes from a map.
func ParseMap(users map[string]string) (*File, []Problem) {
	var text strings.Builder
	f := &File{users: map[string]hash{}, cost: defaultCost}
	var problems []Problem
	for _, user := range sorted(users) {
		text.Reset()
		if p := f.add(user, strings.TrimSpace(users[user])); p.Reason != "" {
			problems = append(problems, p)
			if p.Reason == TooMany {
				break
			}
		}
	}
	return f, problems
}

// add takes one user in, and returns a problem with a reason if there is one.
func (f *File) add(user, text string) Problem {
	p := Problem{User: shown(user), Reason: Invalid}
	switch {
	case len(f.users) >= MaxUsers:
		p.Reason, p.Message = TooMany, fmt.Sprintf("more than %d users: this user and all further ones cannot log in", MaxUsers)
		return p
	case !validUser(user):
		p.Message = "the name is empty, longer than 256 bytes, not UTF-8, or has a colon or a control character"
		return p
	case f.users[user].verify != nil:
		p.Warning, p.Message = true, "the user stands twice: the first line counts"
		return p
	}
	h, reason, message := parseHash(text)
	if h.verify == nil {
		p.Reason, p.Message = reason, message
		return p
	}
	f.users[user] = h
	f.cost = max(f.cost, h.bcryptCost())
	return Problem{User: p.User, Reason: reason, Warning: true, Message: message}
}

// Len returns the number of users who can log in.
func (f *File) Len() int { return len(f.users) }

// Verify reports whether the user has the password. An unknown user costs as much as
// one with bcrypt, so that the time does not say who exists.
func (f *File) Verify(user, password string) bool {
	if len(password) > MaxPassword {
		return false
	}
	h, known := f.users[user]
	if !known {
		h = dummy(f.cost)
	}
	return h.verify(h, password) && known
}

func validUser(user string) bool {
	if user == "" || len(user) > MaxUser || !utf8.ValidString(user) {
		return false
	}
	return !strings.ContainsFunc(user, func(r rune) bool { return r < ' ' || r == ':' || r >= 0x7f && r < 0xa0 })
}

// shown is a name that a message can repeat.
func shown(user string) string {
	const most = 40
	user = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, user)
	if len(user) > most {
		return user[:most] + "…"
	}
	return user
}
