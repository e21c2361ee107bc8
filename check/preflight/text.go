package preflight

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/check"
)

// Text writes the answer for people. Each line is safe for a terminal.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", r.headline())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row(t, "STATE", "CHECK", "FOUND")
	for i := range r.Checks {
		c := &r.Checks[i]
		row(t, string(c.State), c.ID, c.Summary)
		if c.Remedy != "" {
			row(t, "", "", "  do: "+c.Remedy)
		}
		if c.Page != "" {
			row(t, "", "", "  see: "+c.Page)
		}
	}
	_ = t.Flush() // it writes into memory
	if len(r.Kinds) > 0 {
		b.WriteString("\n")
		t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		row(t, "KIND", "OWNER", "HERE", "THEN")
		for _, line := range r.kindRows() {
			row(t, line...)
		}
		_ = t.Flush() // it writes into memory
	}
	for _, n := range r.Notes {
		b.WriteString("note: " + terminal.Line(n) + "\n")
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// row writes cells that cannot break out of their columns.
func row(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = terminal.Line(cells[i])
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

func (r *Report) headline() string {
	text := map[Verdict]string{Ready: "READY", NotReady: "NOT READY", Unclear: "UNKNOWN: too much could not be read"}[r.Verdict]
	var counts []string
	if n := r.Count(check.Fail); n > 0 {
		counts = append(counts, fmt.Sprintf("%d failed", n))
	}
	switch n := r.Count(check.Warn); {
	case n == 1:
		counts = append(counts, "1 warning")
	case n > 1:
		counts = append(counts, fmt.Sprintf("%d warnings", n))
	}
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	if r.Kubernetes != "" {
		text += "  (Kubernetes " + terminal.Line(r.Kubernetes) + ")"
	}
	return text
}

// kindRows are one line for each kind, or one for those of a group that are alike.
func (r *Report) kindRows() [][]string {
	var all [][]string
	shown := make([]bool, len(r.Kinds))
	for i := range r.Kinds {
		if shown[i] {
			continue
		}
		d, n := &r.Kinds[i], 0
		for j := i; j < len(r.Kinds); j++ {
			if alike(d, &r.Kinds[j]) {
				shown[j] = true
				n++
			}
		}
		name := d.Kind
		if n > 1 {
			name = fmt.Sprintf("%d kinds of %s", n, groupOf(d.Kind))
		}
		all = append(all, []string{name, orDash(d.Owner), orDash(d.Here), d.text()})
	}
	return all
}

func alike(a, b *Decision) bool {
	return groupOf(a.Kind) == groupOf(b.Kind) && a.Owner == b.Owner && a.Here == b.Here && a.Then == b.Then && a.Why == b.Why && slices.Equal(a.Gained, b.Gained)
}

func (d *Decision) text() string {
	switch {
	case d.Why != "":
		return string(d.Then) + ": " + d.Why
	case d.Then == Upgrade:
		return string(d.Then) + ", with " + most(d.Gained)
	}
	return string(d.Then)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
