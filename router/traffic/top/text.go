package top

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text writes a table, the total last.
func (v *View) Text(w io.Writer) error {
	rows := [][]string{{"ROUTE", "HOST", "REQ/S", "2xx", "3xx", "4xx", "5xx", "ERR%", "CONN", "PODS", "IN/S", "OUT/S"}}
	for i := range v.Routes {
		l := &v.Routes[i]
		rows = append(rows, l.cells(l.Namespace+"/"+l.Route))
	}
	if v.Hidden > 0 {
		rows = append(rows, []string{fmt.Sprintf("… and %d more", v.Hidden)})
	}
	if v.Rest != nil && v.Rest.Requests+v.Rest.Connections > 0 {
		rows = append(rows, v.Rest.cells("all without series"))
	}
	rows = append(rows, v.Total.cells("total"))
	var b strings.Builder
	fmt.Fprintf(&b, "router %s, %s, over %.3g s\n", v.Router, replicas(v.Routers), v.Seconds)
	for _, why := range v.Unread {
		fmt.Fprintf(&b, "not asked: %s\n", why)
	}
	table(&b, rows)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// names are how many columns are aligned left.
const names = 2

// table aligns names left and numbers right.
func table(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if len(row) > 1 || i >= names {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fill := strings.Repeat(" ", max(width[i]-utf8.RuneCountInString(cell), 0))
			if i < names {
				line.WriteString(cell + fill + "  ")
			} else {
				line.WriteString(fill + cell + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func (l *Line) cells(name string) []string {
	return []string{
		name, l.Host, fmt.Sprintf("%.1f", l.Requests), number(l.OK), number(l.Redirect), number(l.Client), number(l.Server),
		fmt.Sprintf("%.2f", l.Errors), fmt.Sprintf("%.0f", l.Connections), fmt.Sprintf("%.0f", l.Endpoints), bytes(l.Received), bytes(l.Sent),
	}
}

// number is short: a rate below 10 has a decimal.
func number(n float64) string {
	if n > 0 && n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// bytes writes a size with a unit of 1000.
func bytes(n float64) string {
	for _, unit := range []string{"", " k", " M", " G"} {
		if n < 1000 {
			if unit == "" {
				return fmt.Sprintf("%.0f", n)
			}
			return fmt.Sprintf("%.3g%s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g T", n)
}
