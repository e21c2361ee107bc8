package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
)

// View is a list of answers, for people and for programs.
type View struct {
	Answers []Answer `json:"addresses"`
	// Detail says that one address was asked for.
	Detail bool `json:"-"`
	// Now is the time of the answer.
	Now time.Time `json:"-"`
}

// Good says whether every address is announced.
func (v *View) Good() bool {
	for i := range v.Answers {
		if !v.Answers[i].Announced() {
			return false
		}
	}
	return len(v.Answers) > 0
}

// Text writes a table, or all there is to say about one address.
func (v *View) Text(w io.Writer) error {
	var text strings.Builder
	switch {
	case len(v.Answers) == 0:
		text.WriteString("No Service has such an address.\n")
	case v.Detail:
		for i := range v.Answers {
			v.detail(&text, &v.Answers[i])
		}
	default:
		v.table(&text)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func (v *View) table(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row(t, "ADDRESS", "SERVICE", "OWNER", "SINCE", "NEXT", "BGP", "NOTE")
	for i := range v.Answers {
		a := &v.Answers[i]
		next, since := "-", "-"
		if len(a.Candidates) > 1 {
			next = strings.Join(a.Candidates[1:min(3, len(a.Candidates))], ",")
		}
		if a.Since != nil {
			since = age(v.Now.Sub(*a.Since))
		}
		row(t, strings.Join(a.Addresses, ","), a.Service, dash(a.Owner), since, next, nodesOf(a.BGP), a.note())
	}
	_ = t.Flush() // into memory
}

// note is what is wrong, if anything is.
func (a *Answer) note() string {
	switch {
	case len(a.Disagree) > 0:
		return "the speakers disagree"
	case a.Owner == "" && len(a.BGP) == 0:
		return a.Reason
	}
	for _, s := range a.BGP {
		if s.State != "Established" {
			return fmt.Sprintf("session of %s with %s: %s", s.Node, s.Peer, dash(s.State))
		}
	}
	return ""
}

// row writes the cells of a table's row, whatever they hold.
func row(t io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = terminal.Line(cells[i])
	}
	_, _ = io.WriteString(t, strings.Join(cells, "\t")+"\n") // into memory
}

// line writes one line, whatever the arguments hold.
func line(out io.Writer, format string, args ...any) {
	_, _ = io.WriteString(out, terminal.Line(fmt.Sprintf(format, args...))+"\n") // into memory
}

func (v *View) detail(out io.Writer, a *Answer) {
	line(out, "%s of service %s, pool %s", strings.Join(a.Addresses, ", "), a.Service, dash(a.Pool))
	switch a.Owner {
	case "":
		line(out, "  answered by nobody: %s", a.Reason)
	default:
		line(out, "  answered by %s%s%s%s", a.Owner, on(a.Interfaces), v.ago(", since", a.Since), v.ago(", last announced", a.LastAnnounced))
	}
	if len(a.Candidates) > 1 {
		line(out, "  next         %s", strings.Join(a.Candidates[1:], ", "))
	}
	for i, n := range sortedNames(a.Excluded) {
		head := "excluded"
		if i > 0 {
			head = ""
		}
		line(out, "  %-12s %s: %s", head, n, a.Excluded[n])
	}
	for i, s := range a.BGP {
		head := "by BGP"
		if i > 0 {
			head = ""
		}
		line(out, "  %-12s %s to %s: %s%s%s%s", head, s.Node, s.Peer, dash(s.State), v.ago(", since", s.Since), bfd(s.BFD), prefixed(", ", s.Error))
	}
	v.sources(out, a)
}

// sources says which speakers report it.
func (v *View) sources(out io.Writer, a *Answer) {
	switch {
	case len(a.Reported) == 0:
		line(out, "  as the objects have it; no speaker was asked, so it may be that one is not reachable or a probe fails")
	case len(a.Disagree) == 0:
		line(out, "  as the speakers of %s say", strings.Join(a.Reported, ", "))
	default:
		line(out, "  as the speakers of %s say, but they disagree", strings.Join(a.Reported, ", "))
		for _, n := range sortedNames(a.Disagree) {
			line(out, "    %s says %s", n, a.Disagree[n])
		}
	}
	for _, n := range sortedNames(a.Unreachable) {
		line(out, "  the speaker of %s did not answer: %s", n, a.Unreachable[n])
	}
}

func (v *View) ago(what string, at *time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s %s ago", what, age(v.Now.Sub(*at)))
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func on(interfaces []string) string {
	if len(interfaces) == 0 {
		return ""
	}
	return " on " + strings.Join(interfaces, ", ")
}

func bfd(state string) string {
	if state == "" || state == "N/A" {
		return ""
	}
	return ", BFD " + state
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func nodesOf(sessions []Session) string {
	nodes := map[string]bool{}
	for _, s := range sessions {
		if s.State == "Established" {
			nodes[s.Node] = true
		}
	}
	return dash(strings.Join(sortedNames(nodes), ","))
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
