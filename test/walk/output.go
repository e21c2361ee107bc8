package walk

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// hole is what a reader fills in.
var hole = regexp.MustCompile(`<([a-z][a-z -]*[a-z])>`)

// Fill puts the words into the holes of a text. A hole without a word is an error: the page does not say what belongs there.
func Fill(text string, words map[string]string) (string, error) {
	var missing error
	filled := hole.ReplaceAllStringFunc(text, func(h string) string {
		word, known := words[h[1:len(h)-1]]
		if !known && missing == nil {
			missing = fmt.Errorf("the page does not say before what %s is: %s", h, text)
		}
		return word
	})
	return filled, missing
}

// Compare compares what a command printed with what the page shows, and adds the words that were in its holes. How wide columns
// are does not count, nor does space at the end.
func Compare(shown []string, printed string, words map[string]string) error {
	pattern, names := "", []string{}
	for _, line := range trimmed(shown) {
		if line == "…" {
			pattern += `(?:[^\n]*\n)*?`
			continue
		}
		pattern += linePattern(line, words, &names) + `\n`
	}
	got := strings.Join(trimmed(strings.Split(printed, "\n")), "\n") + "\n"
	if got == "\n" {
		got = ""
	}
	m := regexp.MustCompile(`^` + pattern + `$`).FindStringSubmatch(got)
	if m == nil {
		return fmt.Errorf("the page shows\n%s\nbut this is printed\n%s", strings.Join(shown, "\n"), printed)
	}
	found := map[string]string{}
	for i, name := range names {
		if before, twice := found[name]; twice && before != m[i+1] {
			return fmt.Errorf("<%s> is both %s and %s in\n%s", name, before, m[i+1], printed)
		}
		found[name] = m[i+1]
	}
	maps.Copy(words, found)
	return nil
}

// linePattern is what a line of a page stands for. It adds the names of its new holes.
func linePattern(line string, words map[string]string, names *[]string) string {
	pattern, at := "", 0
	literal := func(text string) {
		parts := strings.Split(text, "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		pattern += strings.Join(parts, `[^\n]*`)
	}
	for _, m := range hole.FindAllStringSubmatchIndex(line, -1) {
		literal(line[at:m[0]])
		name := line[m[2]:m[3]]
		if word, known := words[name]; known {
			pattern += regexp.QuoteMeta(word)
		} else {
			pattern += `([^ \n,]+)`
			*names = append(*names, name)
		}
		at = m[1]
	}
	literal(line[at:])
	return pattern
}

// trimmed returns the lines with single spaces, without the empty ones.
func trimmed(lines []string) (out []string) {
	for _, l := range lines {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// quoted is a word for the shell's "." command.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// code reads the exit code that the shell wrote.
func code(line string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0, fmt.Errorf("the shell answers %q", line)
	}
	return n, nil
}
