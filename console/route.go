package console

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
)

// routePage is one Route.
type routePage struct {
	Row         explain.Row
	Reach       bounded[explain.Reach]
	Findings    bounded[explain.Finding]
	Ingress     bounded[explain.Finding]
	Shadows     bounded[explain.Other]
	Policies    bounded[explain.Policy]
	Pods        bounded[explain.Pod]
	PodsKnown   bool
	Certificate *explain.Cert
	Words       bounded[explain.RouterWord]
	Next        bounded[string]
	Manifest    bounded[string]
	Backend     string
}

// manifestLines is how many lines of a manifest are shown.
const manifestLines = 400

// route shows one Route.
func (v *visit) route(namespace, name string) answer {
	var d *explain.Detail
	var err error
	v.ask(v.world, func(s *explain.Snapshot) { d, err = s.Detail(namespace, name) })
	if err != nil {
		return missing(err.Error())
	}
	one := d.Why.Routes[0]
	lines := strings.Split(strings.TrimSuffix(d.Manifest, "\n"), "\n")
	data := routePage{
		Row: d.Row, Reach: boundedList(one.Reach), Findings: boundedList(one.Findings), Ingress: boundedList(d.Ingress), Shadows: boundedList(one.Shadows),
		Policies: boundedList(d.Policies), Pods: boundedList(d.Pods), PodsKnown: d.PodsKnown, Certificate: d.Certificate, Words: boundedList(d.Words),
		Next: boundedList(d.Why.Next), Backend: one.Backend,
		Manifest: bounded[string]{Shown: first(lines, manifestLines), More: max(0, len(lines)-manifestLines)},
	}
	return answer{name: "route", title: "Route " + namespace + "/" + name, data: data, line: Line{Command: "why", Subject: "route/" + name, Namespace: namespace}}
}

// askPage is the form that asks what becomes of a request, with the answer.
type askPage struct {
	URL, SNI, Client string
	// Gateway is "NAMESPACE/NAME" of the one that is asked, empty for the router's own ports.
	Gateway   string
	Headers   []string
	Problem   string
	Answer    *explain.Explanation
	Verdict   string
	Steps     []step
	Endpoints bounded[explain.Endpoint]
	Policies  bounded[explain.Policy]
	Findings  bounded[explain.Finding]
	Others    bounded[explain.Other]
	Next      bounded[string]
	Notes     bounded[string]
}

// step is one on the way of a request.
type step struct {
	Name, Text string
	// Link is a path below base, or empty.
	Link []any
}

const (
	// askBytes bounds each field of the form, askHeaders their number.
	askBytes, askHeaders = 8192, 50
)

// askPage answers what becomes of a request.
func (v *visit) askPage() answer {
	data := askPage{URL: v.values.Get("url"), SNI: v.values.Get("sni"), Client: v.values.Get("client"), Gateway: v.values.Get("gateway")}
	for line := range strings.Lines(v.values.Get("headers")) {
		if line = strings.TrimSpace(line); line != "" {
			data.Headers = append(data.Headers, line)
		}
	}
	a := answer{name: "ask", title: "Ask a URL"}
	if data.URL != "" {
		a.line = data.line()
		data.answer(v)
	}
	a.data = data
	return a
}

// line is the command that asks the same.
func (d *askPage) line() Line {
	l := Line{Command: "explain", Subject: d.URL}
	for _, h := range d.Headers {
		l.Flags = append(l.Flags, "-H", h)
	}
	if d.SNI != "" {
		l.Flags = append(l.Flags, "--sni", d.SNI)
	}
	if d.Client != "" {
		l.Flags = append(l.Flags, "--client-ip", d.Client)
	}
	if d.Gateway != "" {
		l.Flags = append(l.Flags, "--gateway", d.Gateway)
	}
	return l
}

func (d *askPage) answer(v *visit) {
	for _, text := range append([]string{d.URL, d.SNI, d.Client, d.Gateway}, d.Headers...) {
		if len(text) > askBytes || len(d.Headers) > askHeaders {
			d.Problem = "the request is too long"
			return
		}
	}
	if d.Client != "" {
		if _, err := netip.ParseAddr(d.Client); err != nil {
			d.Problem = "the address of the client is not an IP address; write one such as 203.0.113.7 or 2001:db8::7"
			return
		}
	}
	request, err := explain.ParseRequest(explain.RequestArgs{URL: d.URL, Headers: d.Headers, SNI: d.SNI, SNISet: d.SNI != "", ClientIP: d.Client})
	if err != nil {
		d.Problem = err.Error()
		return
	}
	e, err := d.explain(v, request)
	if err != nil {
		d.Problem = err.Error()
		return
	}
	d.Answer, d.Verdict, d.Steps = e, verdict(e), steps(e)
	d.Endpoints, d.Policies, d.Findings = boundedList(e.Endpoints), boundedList(e.Policies), boundedList(e.Findings)
	d.Others, d.Next, d.Notes = boundedList(e.Others), boundedList(e.Next), boundedList(e.Notes)
}

// explain asks the router's own ports, or a Gateway.
func (d *askPage) explain(v *visit, r *explain.Request) (e *explain.Explanation, err error) {
	if d.Gateway == "" {
		v.ask(v.world, func(s *explain.Snapshot) { e = s.Explain(r) })
		return e, nil
	}
	namespace, name, ok := strings.Cut(d.Gateway, "/")
	if !ok {
		return nil, errors.New("write the Gateway as NAMESPACE/NAME")
	}
	v.ask(v.world, func(s *explain.Snapshot) { e, err = s.ExplainAt(r, namespace, name) })
	return e, err
}

// verdict is the word for an explanation, as on the terminal.
func verdict(e *explain.Explanation) string {
	switch {
	case e.Route != nil && e.Route.Hidden:
		return explain.HiddenNamespace
	case e.Served:
		return "served"
	case e.Result.Location != "":
		return "redirected"
	}
	return "not served"
}
