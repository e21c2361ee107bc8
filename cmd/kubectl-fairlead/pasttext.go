package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/observe"
)

// schemaPast is that of the JSON form.
const schemaPast = "fairlead.dev/request/v1"

// past is the answer to "what became of the request with this ID".
type past struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`
	// Requests are those that are kept, the newest first. There is more than one if clients choose IDs.
	Requests []pastRequest `json:"requests"`
	// Routers are those that were asked.
	Routers []pastRouter `json:"routers"`
	Notes   []string     `json:"notes,omitempty"`

	router string
	now    time.Time
}

// pastRequest is a request as it was, and what is decided about its URL now.
type pastRequest struct {
	Router string `json:"router"`
	observe.Record
	// Today is nil where it is not known.
	Today *explain.Explanation `json:"today,omitempty"`
}

// pastRouter is what a router keeps.
type pastRouter struct {
	Router  string    `json:"router"`
	Keeps   bool      `json:"keeps"`
	Kept    int       `json:"requests"`
	Since   time.Time `json:"since,omitzero"`
	LeftOut int64     `json:"leftOut"`
	Problem string    `json:"problem,omitempty"`
}

func (p *past) order() {
	slices.SortStableFunc(p.Requests, func(a, b pastRequest) int { return b.Time.Compare(a.Time) })
}

// asked reports whether a router has said what it keeps.
func (p *past) asked() bool {
	return slices.ContainsFunc(p.Routers, func(r pastRouter) bool { return r.Keeps || r.Problem == "" })
}

// url is that of the request, as far as it is kept.
func (r *pastRequest) url() string {
	scheme := "http"
	if r.TLS != "" {
		scheme = "https"
	}
	return scheme + "://" + r.Host + r.Path
}

// Text writes the answer for people. Clients choose what is in a request, so nothing in it reaches the terminal that is not
// printable.
func (p *past) Text(w io.Writer) error {
	var b strings.Builder
	if len(p.Requests) == 0 {
		p.none(&b)
	}
	for i := range p.Requests {
		if i > 0 {
			b.WriteString("\n")
		}
		r := &p.Requests[i]
		p.request(&b, r)
		if r.Today == nil {
			continue
		}
		b.WriteString("\nWhat is decided about this URL now; objects may have changed since:\n\n")
		if err := r.Today.Text(&b); err != nil {
			return fmt.Errorf("write the decision: %w", err)
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", terminal.Line(n))
	}
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // the caller says what
}

func (p *past) request(b *strings.Builder, r *pastRequest) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s %s\n", name, terminal.Line(fmt.Sprintf(format, args...)))
	}
	line("request", "%s", p.ID)
	line("ended", "%s, %s ago, at router %s", r.Time.In(p.now.Location()).Format("2006-01-02 15:04:05.000"), p.now.Sub(r.Time).Round(time.Second), r.Router)
	cut := ""
	if r.PathBytes > len(r.Path) {
		cut = fmt.Sprintf("… (a path of %d bytes)", r.PathBytes)
	}
	line("asked", "%s %s%s", r.Method, r.url(), cut)
	line("client", "%s, %s", r.Client, strings.TrimRight(strings.Join([]string{r.Protocol, r.TLS}, ", "), ", "))
	line("route", "%s", r.object())
	if r.Pod != "" {
		line("pod", "%s of Service %s", r.Pod, r.Service)
	}
	line("answer", "%s", r.outcome())
	line("times", "%s", phases(&r.Timers))
	if t := r.Trace(); t != "" {
		line("trace", "%s", t)
	}
	if r.fromGateway() && r.Today != nil && r.Today.Gateway == "" {
		b.WriteString("note: the route is of the Gateway API; for what its Gateway decides now, add --gateway NAMESPACE/NAME\n")
	}
}

func (r *pastRequest) object() string {
	if r.Route == "" {
		return "none: no object took the request, or the router redirected it"
	}
	return r.Kind + " " + r.Namespace + "/" + r.Route
}

// fromGateway reports whether the route is one that Gateways have.
func (r *pastRequest) fromGateway() bool { return r.Kind == "HTTPRoute" || r.Kind == "GRPCRoute" }

// outcome is the status in words.
func (r *pastRequest) outcome() string {
	text := strconv.Itoa(r.Status)
	switch {
	case r.Words != "":
		text += ": " + r.Words
	case r.Pod != "":
		text += ", as the pod answered"
	}
	if r.Policy != "" {
		text += "; answered by policy " + r.Policy
	}
	if r.Moved {
		text += "; at last another pod was tried"
	}
	return text
}

// phases are the times of a request in words. One that was not reached is left out.
func phases(t *observe.Timers) string {
	var parts []string
	for _, p := range []struct {
		seconds float64
		what    string
	}{
		{t.Handshake, "for the TLS handshake"},
		{t.Request, "until the request was there"},
		{t.Queue, "waiting for a pod"},
		{t.Connect, "until the pod was connected"},
		{t.Response, "until it answered"},
		{t.Data, "to send the answer"},
	} {
		if p.seconds >= 0 {
			parts = append(parts, milliseconds(p.seconds)+" "+p.what)
		}
	}
	return strings.Join(append(parts, milliseconds(t.Total)+" in all"), ", ")
}

func milliseconds(seconds float64) string {
	return strconv.FormatFloat(max(seconds, 0)*1000, 'f', 0, 64) + " ms"
}

// none says why nothing is found, and what to do.
func (p *past) none(b *strings.Builder) {
	keeps := slices.ContainsFunc(p.Routers, func(r pastRouter) bool { return r.Keeps })
	fmt.Fprintf(b, "No request with the ID %s is kept at %s of router %s.\n", terminal.Line(p.ID), plural(len(p.Routers), "replica"), terminal.Line(p.router))
	if !keeps {
		fmt.Fprintf(b, "They keep none: kubectl annotate ingresscontroller %s -n %s %s=failed has them keep those that fail from then on.\n", terminal.Line(p.router), api.OperatorNamespace, api.AnnotationKeepRequests)
		return
	}
	for _, r := range p.Routers {
		if r.Keeps {
			fmt.Fprintf(b, "%s has %d, all that failed since %s", terminal.Line(r.Router), r.Kept, r.Since.In(p.now.Location()).Format(time.TimeOnly))
			if r.LeftOut > 0 {
				fmt.Fprintf(b, "; %d were too many at a time", r.LeftOut)
			}
			b.WriteString(".\n")
		}
	}
	fmt.Fprintf(b, "Kept are requests whose answer was an error, for %.0f minutes; a pod that ends takes its own with it. The ID is the header X-Request-ID of the answer, or that of the trace.\n", observe.KeptFor.Minutes())
}
