package haproxy

import (
	"errors"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/render"
)

// This file is the only way for text to reach the runtime socket: a form, which
// is a constant of this package, with values in the place of its question marks.
// Each value becomes exactly one word of HAProxy's command line, whatever it
// holds, or the command is refused. What ingest lets through does not matter
// here. Of the typed calls of client-native only one without values is used, because
// they send values as they are.

// form is a command with a "?" for each value.
type form string

// command is the text of one command.
type command struct {
	text string
	// err says why a value cannot be sent, or is nil.
	err error
}

// minCommand is how long a command without its payload may always be: the
// smallest buffer that HAProxy can be given has 16 KiB.
const minCommand = 15 << 10

// Pace says how Apply is to take steps: with rests for HAProxy's traffic between
// lines that take long, as suits a process that serves, and in commands that fit
// buffers of so many bytes.
func (r *Runtime) Pace(gentle bool, buffer int) {
	r.gentle, r.command = gentle, max(minCommand, buffer-1<<10)
}

// say puts values into a form.
func say(f form, values ...string) command {
	var c command
	var b strings.Builder
	rest := string(f)
	for _, v := range values {
		before, after, _ := strings.Cut(rest, "?")
		b.WriteString(before)
		rest = after
		if err := checkWord(v); err != nil && c.err == nil {
			c.err = err
		}
		appendEscaped(&b, v)
	}
	b.WriteString(rest)
	c.text = b.String()
	return c
}

// sayWords is say for a form that any number of words follow.
func sayWords(f form, words []string, more ...string) command {
	words = append(slices.Clip(words), more...)
	return say(f+form(strings.Repeat(" ?", len(words))), words...)
}

// checkWord returns why a text cannot be a word of a command.
func checkWord(s string) error {
	if s == "" {
		return errors.New("an empty word")
	}
	return render.CheckText(s)
}

// appendEscaped writes one word: a backslash stands before what would separate
// words or commands, and before "<", two of which would begin a payload.
func appendEscaped(b *strings.Builder, s string) {
	for i := range len(s) {
		switch s[i] {
		case '\\', ';', ' ', '<':
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
}
