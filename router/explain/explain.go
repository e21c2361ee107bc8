package explain

import (
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Explain says what becomes of a request, and why.
func (s *Snapshot) Explain(r *Request) *Explanation {
	d := s.decide(r)
	e := &Explanation{
		Schema: SchemaExplain, URL: r.URL, Router: s.options.Router,
		Host: d.name(r), Path: r.Path, EndpointsKnown: true, Notes: s.Notes(),
	}
	if r.Secure {
		e.SNI = match.ServerName(r.SNI)
	}
	if r.Secure && !s.hidesAt(d.name(r)) && !s.hidesAt(e.SNI) {
		e.Certificate, e.HTTP2 = s.certificate(d, r), plan.HTTP2(d.Certificate)
	}
	c := s.owner(d, r)
	if c != nil && c.IsShared() || isOwnAnswer(d.value) {
		s.explainShared(e, d, r, c)
		return e
	}
	if c != nil && !s.hides(c.Owner) {
		info := s.info(c.Owner)
		e.Route = &info
		e.Findings = s.findingsOf(c.Owner)
	}
	if c != nil && s.hides(c.Owner) {
		return s.concealed(e, d, r, c)
	}
	s.answer(e, d, r, c)
	if e.Backend != "" { // which routed has found
		e.Policies = s.policies(c, r)
	}
	e.Others = s.others(d, r, c)
	s.addNotes(e, r, c)
	s.otherDoors(e)
	if !e.Served && d.value == "" {
		s.nothingMatches(e, r)
	}
	return e
}

// answer says what the client gets, and from whom.
func (s *Snapshot) answer(e *Explanation, d decision, r *Request, c *model.Claim) {
	e.Listener = d.listener()
	switch {
	case match.RedirectStatus(d.value) != 0:
		e.redirect(d, r)
	case !d.routed():
		s.notServed(e, d, c)
	default:
		s.routed(e, r, c)
	}
}

func (e *Explanation) redirect(d decision, r *Request) {
	location := "https://" + match.RedirectHost(d.value, d.name(r)) + r.Path + r.Query
	status := match.RedirectStatus(d.value)
	e.Result = Result{Status: status, Location: location, Text: fmt.Sprintf("redirect %d to %s", status, location)}
	e.Next = append(e.Next, "see what happens there: "+terminal.Command("kubectl", "fairlead", "explain", location))
}

// notServed is the answer of the default backend.
func (s *Snapshot) notServed(e *Explanation, d decision, c *model.Claim) {
	e.Result = Result{Status: 404, Text: "404 page of the router"}
	if d.value == match.BadPath {
		e.Result = Result{Status: 400, Text: "400: programs read this path in different ways, and routes of the host protect some paths"}
		e.Next = append(e.Next, "ask for the path as the route has it: without empty segments, dot segments and parameters, and with %-escapes only where they are needed")
		return
	}
	if d.value == match.Misdirected {
		e.Result = Result{Status: 421, Text: "421: TLS of this connection ended at the router, and a passthrough route takes the host"}
		e.Next = append(e.Next, "ask over a connection whose server name is the host")
		return
	}
	if d.value != match.Refuse {
		return
	}
	e.Result.Text += ": the route takes no plain HTTP"
	if c != nil {
		e.Next = append(e.Next,
			"ask the https:// address instead",
			fmt.Sprintf("or set spec.tls.insecureEdgeTerminationPolicy of route %s to Redirect", c.Owner))
	}
}

// routed describes the backend of a request that a route takes.
func (s *Snapshot) routed(e *Explanation, r *Request, c *model.Claim) {
	if c == nil {
		return // cannot happen: every backend in the tables is a claim's
	}
	chosen, to := branch(c, r)
	e.Branch, e.Backend = chosen, to.Name()
	e.Endpoints = endpoints(to, r)
	if p := c.Backend.Policy(); p.Rewrite != nil {
		e.PodPath = rewritten(p, r.Path)
	}
	if result, refused := answered(c, r, s.options.Now); refused {
		e.Result = result
		if r.ClientIP.IsValid() && (result.Status == 0 || result.Status == match.StatusForbidden) {
			e.Next = append(e.Next, "ask from an address that the route admits, or change its lists")
		}
		return
	}
	if a := c.Backend.Policy().Agent; a != nil {
		e.Notes = append(e.Notes, "the policy agent decides first ("+a.Methods+"); it was not asked: the answer is for a request that it lets on")
		e.Notes = append(e.Notes, s.agentNotes(s.pipeline, c.Owner)...)
	}
	live := slices.ContainsFunc(e.Endpoints, func(p Endpoint) bool { return p.Weight > 0 || p.Sticky })
	switch unknown := s.unknownServices(c.Owner); {
	case live:
		e.Served = true
		e.Result = Result{Text: "served by the route's endpoints"}
	case len(unknown) > 0 && !c.Closed:
		e.Served, e.EndpointsKnown = true, false
		e.Result = Result{Text: "goes to the endpoints of Service " + strings.Join(unknown, ", ")}
	default:
		s.unavailable(e, c)
	}
}

// unavailable is the answer of a route without usable endpoint.
func (s *Snapshot) unavailable(e *Explanation, c *model.Claim) {
	why := "no endpoint is ready"
	ingressClosed := route.Closed(s.source.routes[c.Owner])
	switch {
	case ingressClosed:
		why = "its Ingress is closed by an annotation"
	case c.Closed:
		why = "the route cannot be used as it is, and something of it protects"
	}
	if len(e.Endpoints) > 0 {
		why = "all endpoints have weight 0"
	}
	e.Result = Result{Status: 503, Text: "503 page of the router: " + why}
	if c.Termination == model.Passthrough {
		e.Result = Result{Text: "the connection is closed: " + why}
	}
	if len(e.Endpoints) > 0 {
		e.Next = append(e.Next, fmt.Sprintf("give a backend of route %s a weight above 0", c.Owner))
		return
	}
	if c.Closed && !ingressClosed {
		e.Next = append(e.Next, "see what is wrong: "+terminal.Command("kubectl", "fairlead", "why", "route/"+c.Owner.Name, "-n", c.Owner.Namespace))
		return
	}
	if ingressClosed {
		e.Next = append(e.Next, "see by which: "+terminal.Command("kubectl", "fairlead", "why", "ingress/"+s.source.ingress[c.Owner], "-n", c.Owner.Namespace))
		return
	}
	e.Next = append(e.Next, s.behindAll(c.Owner)...)
}

// unknownServices returns the route's Services whose endpoints are not known.
func (s *Snapshot) unknownServices(key model.Object) []string {
	var names []string
	for _, service := range s.pipeline.Services(key) {
		if s.source.Service(service) != nil && !s.source.endpointsKnown(service) {
			names = append(names, service.Name)
		}
	}
	return names
}

// addNotes says what the answer leaves open.
func (s *Snapshot) addNotes(e *Explanation, r *Request, c *model.Claim) {
	note := func(format string, args ...any) { e.Notes = append(e.Notes, fmt.Sprintf(format, args...)) }
	if r.Secure && e.Listener.Name == "https" && e.SNI != "" && e.SNI != e.Host {
		note("the server name %s chose the certificate, the Host header %s chose the route", e.SNI, e.Host)
	}
	if !e.EndpointsKnown {
		if s.objects.Offline {
			note("the manifests have no EndpointSlice, so endpoints are not known")
		} else {
			note("endpoints could not be read")
		}
	}
	if ic := s.controller; ic != nil && ic.Spec.ClientTLS.ClientCertificatePolicy == operatorv1.ClientCertificatePolicyRequired && e.Listener.Name == "https" {
		note("the router asks every TLS client for a certificate (spec.clientTLS), and refuses those without")
	}
	if c == nil {
		return
	}
	if why := s.source.unreadable[c.Owner]; why != "" && !slices.Contains(e.Notes, why) {
		note("%s", why)
	}
	if p := c.Backend.Policy(); (p.Restricted || len(p.Deny) > 0) && !r.ClientIP.IsValid() && e.Backend != "" {
		note("the route admits only some clients; name one with --client-ip")
	}
	for _, assumed := range r.Subject.assumed(c.Backend.Policy()) {
		note("%s", assumed)
	}
	s.compareStatus(e, c)
}

// compareStatus says where the router's own word differs.
func (s *Snapshot) compareStatus(e *Explanation, c *model.Claim) {
	route := s.source.routes[c.Owner]
	if s.objects.Offline || route == nil {
		return
	}
	admitted, known := admittedBy(route, s.options.Router)
	switch {
	case !known:
		e.Notes = append(e.Notes, fmt.Sprintf("router %s has not written a status for route %s; is it running?", s.options.Router, c.Owner))
	case !admitted.ok:
		e.Notes = append(e.Notes, fmt.Sprintf("router %s itself says of route %s: not admitted, %s: %s", s.options.Router, c.Owner, admitted.reason, admitted.message))
		if remedy, ok := api.RemedyOf(api.Reason(admitted.reason)); ok {
			e.Next = append(e.Next, remedy.Remedy)
		}
	}
}

// slicesCommand shows the endpoints of a Service.
func slicesCommand(service model.Object) string {
	return terminal.Command("kubectl", "-n", service.Namespace, "get", "endpointslices", "-l", "kubernetes.io/service-name="+service.Name)
}
