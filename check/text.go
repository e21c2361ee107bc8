package check

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead/fairlead/api/terminal"
)

// Style is how an answer is shown.
type Style struct {
	// Color marks the words that carry the state.
	Color bool
	// ASCII leaves out all other characters.
	ASCII bool
	// Short leaves out the facts.
	Short bool
}

const (
	// lineWidth is how long a line may be before the remedy gets one of its own.
	lineWidth = 120
	headWidth = 10
)

// colors of the words; the words are there without them.
var colors = map[string]string{"HEALTHY": "32", "UNHEALTHY": "31", "UNKNOWN": "33", "FAIL": "31", "WARN": "33"}

// Screen writes the answer for people. Each line is safe for a terminal.
func (r *Report) Screen(w io.Writer, style Style) error {
	var b strings.Builder
	line := func(word, rest string) { style.line(&b, word, rest) }
	r.facts(line, style.Short)
	for _, state := range []State{Fail, Warn} {
		for i := range r.Checks {
			if c := &r.Checks[i]; c.State == state {
				c.lines(line)
			}
		}
	}
	r.notJudged(line)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// line writes a line that begins with a word of a fixed set.
func (style Style) line(b *strings.Builder, word, rest string) {
	rest = terminal.Line(rest)
	if style.ASCII {
		rest = ascii(rest)
	}
	if style.Color && colors[word] != "" {
		word = "\x1b[" + colors[word] + "m" + word + "\x1b[0m"
	}
	b.WriteString(strings.TrimRight(word+rest, " ") + "\n")
}

// facts writes the verdict with the versions and, unless it is to be short, what is known
// of each part.
func (r *Report) facts(line func(word, rest string), short bool) {
	rows, version := r.screen, ""
	if len(rows) > 0 && rows[0].head == "version" {
		version, rows = rows[0].text, rows[1:]
	}
	word, rest := r.headline()
	line(word, fmt.Sprintf("%-*s  %s", 50-len(word), rest, version))
	if short {
		return
	}
	for _, row := range rows {
		line("", fmt.Sprintf("%-*s %s", headWidth, row.head, row.text))
	}
}

func (c *Check) lines(line func(word, rest string)) {
	word := map[State]string{Fail: "FAIL", Warn: "WARN"}[c.State]
	text, remedy := " "+c.ID+" "+c.Summary, "→ "+c.Remedy
	if name := c.Object[strings.LastIndexByte(c.Object, '/')+1:]; !strings.Contains(c.Summary, name) {
		text = " " + c.ID + " " + c.Object + ": " + c.Summary
	}
	if len(word)+len(text)+len(remedy)+5 <= lineWidth {
		line(word, text+"     "+remedy)
		return
	}
	line(word, text)
	line("", "           "+remedy)
}

// headline is the verdict with what qualifies it.
func (r *Report) headline() (word, rest string) {
	var counts []string
	for _, c := range []struct {
		state     State
		one, many string
	}{{Fail, "failure", "failures"}, {Warn, "warning", "warnings"}} {
		switch n := r.Count(c.state); n {
		case 0:
		case 1:
			counts = append(counts, "1 "+c.one)
		default:
			counts = append(counts, fmt.Sprintf("%d %s", n, c.many))
		}
	}
	switch r.Verdict {
	case Unhealthy:
		return "UNHEALTHY", ": " + strings.Join(counts, ", ")
	case Unclear:
		return "UNKNOWN", ": too much could not be read" + cmp.Or(with(counts), "")
	case Healthy:
	}
	rest = with(counts)
	if r.Partial {
		rest += ", as far as could be read"
	}
	return "HEALTHY", rest
}

func with(counts []string) string {
	if len(counts) == 0 {
		return ""
	}
	return " with " + strings.Join(counts, ", ")
}

// notJudged says what is not known, and how many checks there were.
func (r *Report) notJudged(line func(word, rest string)) {
	var ids []string
	for i := range r.Checks {
		if r.Checks[i].State == Unknown {
			ids = append(ids, r.Checks[i].ID)
		}
	}
	if len(ids) > 0 {
		line("", "not judged: "+strings.Join(ids, " "))
	}
	for _, n := range r.Notes {
		line("", "note: "+n)
	}
	parts := []string{fmt.Sprintf("%d checks: %d ok", len(Rules()), r.Count(OK))}
	for _, state := range []State{Fail, Warn, Unknown, Skipped} {
		if n := r.rules(state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	line("", strings.Join(parts, ", "))
}

// rules counts the rules with a state, not their findings.
func (r *Report) rules(state State) int {
	ids := map[string]bool{}
	for i := range r.Checks {
		if r.Checks[i].State == state {
			ids[r.Checks[i].ID] = true
		}
	}
	return len(ids)
}

func ascii(text string) string {
	text = strings.NewReplacer("→", "->", "…", "...").Replace(text)
	return strings.Map(func(c rune) rune {
		if c > 126 {
			return '?'
		}
		return c
	}, text)
}
