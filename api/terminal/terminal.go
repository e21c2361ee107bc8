// Package terminal makes text that tenants, peers and clouds wrote safe to
// show to a person: it cannot move the cursor, rewrite what was printed before,
// fake a line of its own, or become a part of a suggested shell command.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text as one printable line. Every character that is not
// printable, line breaks, tabs, bidirectional and zero-width controls included,
// is replaced by its escape as JSON writes it: \u001b. A byte that is not UTF-8
// becomes \xNN.
func Line(text string) string { return escape(text, "") }

// Excerpt returns the beginning of a text that another program wrote, as one printable
// line of at most so many bytes. It is Line but for line breaks and tabs, which become
// blanks, and ends in an ellipsis if something is left out.
func Excerpt(text string, most int) string {
	const ellipsis = "…"
	// Nothing gets shorter below, so the rest need not be looked at.
	text = Line(blanks.Replace(text[:min(len(text), most+utf8.UTFMax)]))
	if len(text) <= most {
		return text
	}
	end := max(most-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

var blanks = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

// Writer returns a writer that escapes as Line does, but keeps line breaks and
// tabs. What is valid JSON stays the same JSON. Each Write must hold whole
// characters.
func Writer(w io.Writer) io.Writer { return &writer{w} }

type writer struct{ w io.Writer }

func (w *writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, escape(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escape replaces all that is neither printable nor in keep.
func escape(text, keep string) string {
	bad := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) }
	if strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		size := utf8.RuneLen(r)
		switch {
		case !bad(r):
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == utf8.RuneError:
			b.WriteRune(r)
		case size == 4:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Command returns a shell command whose arguments, whatever they hold, stay
// one word each, so that a person can paste it.
func Command(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

// harmless are the characters that no shell gives a meaning to.
const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/%+=,@"

func quote(s string) string {
	if s != "" && strings.Trim(s, harmless) == "" {
		return s
	}
	// A line break or an escape sequence has no place in a command to paste:
	// what is shown of it is its escape, within quotes.
	return "'" + strings.ReplaceAll(Line(s), "'", `'\''`) + "'"
}
