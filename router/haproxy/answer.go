package haproxy

import (
	"strings"
)

// mark is a command that follows each unit of a line. Its answer, HAProxy's
// version, shows that HAProxy has come so far in the line, and parts the answers
// to the unit from those to the next one. It costs 7 µs (3.4.7).
const mark = "show version"

// ask returns what to send for a line, once if the connection is for no other. A payload can only be followed by another
// command in interactive mode, in which HAProxy waits for "quit" before it closes a connection.
func (l *line) ask(once bool) string {
	switch {
	case !l.payload:
		return l.text.String() + ";" + mark + "\n"
	case once:
		return interactive + l.text.String() + "\n" + mark + "\nquit\n"
	}
	return l.text.String() + "\n" + mark + "\n"
}

// read returns, for each unit of a line that HAProxy has answered, why HAProxy
// refuses it, or an empty text. There are fewer answers than units if HAProxy
// has not run, or not answered, the line to its end. Each message of an answer
// begins with its severity in brackets, as client-native asks for.
func (l *line) read(answer string) []string {
	var out []string
	from := 0
	for at := 0; at < len(answer) && len(out) < len(l.units); {
		end := strings.IndexByte(answer[at:], '\n') + at + 1
		if end == at {
			end = len(answer)
		}
		if isMark(answer[at:end]) {
			out = append(out, failure(answer[from:at], l.units[len(out)].removes))
			from = end
		}
		at = end
	}
	return out
}

// isMark recognises the answer to mark: "[6]: 3.4.7-1".
func isMark(l string) bool {
	version, found := strings.CutPrefix(withoutPrompt(l), "[6]: ")
	major, rest, dot := strings.Cut(version, ".")
	return found && dot && digits(major) && rest != "" && digits(rest[:1]) && !strings.Contains(rest, " ")
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// withoutPrompt returns a line of an answer without the prompts of interactive
// mode: "> " before answers, and up to 3.0 "+ " for each line of a payload.
func withoutPrompt(l string) string {
	for {
		l = strings.TrimSpace(l)
		rest, asks := strings.CutPrefix(l, "> ")
		if !asks {
			rest, asks = strings.CutPrefix(l, "+ ")
		}
		if !asks {
			return l
		}
		l = rest
	}
}

// failure finds the first error in the answer to a unit: "[3]: …" and below are
// errors. Commands on certificates that take a while answer without numbers:
// what is wrong, and then "Failed!". An unknown command is a notice for HAProxy.
func failure(answer string, removes bool) string {
	last := ""
	for l := range strings.Lines(answer) {
		l = withoutPrompt(l)
		if l == "Failed!" {
			return last
		}
		if l != "" {
			last = l
		}
		if len(l) < 4 || l[0] != '[' || l[2] != ']' {
			continue
		}
		text := strings.TrimSpace(l[4:])
		switch {
		case strings.HasPrefix(text, "Unknown command"):
			return text
		case l[1] < '0' || l[1] > '3' || removes && gone(text):
			continue
		}
		return text
	}
	return ""
}

// gone recognises the answers to the removal of what does not exist.
func gone(text string) bool {
	for _, known := range []string{"No such backend", "No such server", "Key not found", "certificate doesn't exist", "Can't delete the CA file: "} {
		if strings.HasPrefix(text, known) {
			return true
		}
	}
	return false
}
