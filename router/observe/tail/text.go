// Package tail shows requests of several routers in one order, a line each. It is pure.
package tail

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/observe"
)

// Text writes records as lines for people.
type Text struct {
	// Zone is that of times.
	Zone *time.Location
	// Hosts shows hosts before paths.
	Hosts bool
}

// Line is a record without line break. Clients choose what is in a record, so nothing in it
// reaches the terminal that is not printable.
func (t Text) Line(router string, r *observe.Record) string {
	cells := []string{
		r.Time.In(t.Zone).Format("15:04:05.000"),
		fmt.Sprintf("%-5s", short(router)),
		fmt.Sprintf("%-4s %-24s", terminal.Line(what(r)), terminal.Line(t.where(r))),
		status(r.Status),
		fmt.Sprintf("%8s", duration(r.Timers.Total)),
		fmt.Sprintf("%-16s", terminal.Line(dash(r.Pod))),
		fmt.Sprintf("%-15s", r.Client),
		r.Words,
		details(r),
	}
	for i, c := range cells {
		cells[i] = terminal.Line(c)
	}
	return strings.TrimRight(strings.Join(cells, "  "), " ")
}

// short is the end of a pod's name, by which replicas differ.
func short(pod string) string { return pod[strings.LastIndexByte(pod, '-')+1:] }

func what(r *observe.Record) string {
	if r.Method == "" {
		return r.Protocol
	}
	return r.Method
}

func (t Text) where(r *observe.Record) string {
	if r.Protocol == "TCP" {
		return dash(r.ServerName)
	}
	path := r.Path
	if r.PathBytes > len(r.Path) {
		path += fmt.Sprintf("… (%d bytes)", r.PathBytes)
	}
	if t.Hosts {
		return r.Host + path
	}
	return path
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func status(n int) string {
	if n <= 0 {
		return "  -"
	}
	return fmt.Sprintf("%3d", n)
}

// duration is short: whole milliseconds, or seconds from ten of them on.
func duration(seconds float64) string {
	switch {
	case seconds < 0:
		return "-"
	case seconds < 10:
		return strconv.FormatFloat(seconds*1000, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
}

// details are the protocol, and how long each phase took that there was.
func details(r *observe.Record) string {
	parts := []string{r.Protocol}
	if r.TLS != "" {
		parts[0] += ", " + r.TLS
	}
	for _, p := range []struct {
		name    string
		seconds float64
	}{{"queue", r.Timers.Queue}, {"connect", r.Timers.Connect}, {"answer", r.Timers.Response}, {"data", r.Timers.Data}} {
		if p.seconds >= 0 && r.Pod != "" {
			parts = append(parts, p.name+" "+strconv.FormatFloat(p.seconds*1000, 'f', 0, 64))
		}
	}
	if r.Policy != "" {
		parts = append(parts, "answered by policy "+r.Policy)
	}
	switch {
	case r.Moved:
		parts = append(parts, fmt.Sprintf("%d retries, at last another pod", r.Retries))
	case r.Retries > 0:
		parts = append(parts, fmt.Sprintf("%d retries", r.Retries))
	}
	if trace := r.Trace(); trace != "" {
		parts = append(parts, "trace "+trace)
	}
	return strings.Join(parts, "  ")
}
