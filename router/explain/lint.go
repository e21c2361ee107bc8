package explain

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Lint is all that is wrong with a set of objects.
type Lint struct {
	Schema   string    `json:"schema"`
	Router   string    `json:"router"`
	Findings []Finding `json:"findings"`
	// Errors, Warnings and Infos count the findings.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Routes counts what was looked at, those made of Ingresses included.
	Routes int      `json:"routes"`
	Notes  []string `json:"notes,omitempty"`
}

// Lint returns all findings, of one namespace if that is not empty.
func (s *Snapshot) Lint(namespace string) *Lint {
	l := &Lint{Schema: SchemaLint, Router: s.options.Router, Findings: []Finding{}, Notes: s.Notes()}
	here := func(ns string) bool { return (namespace == "" || ns == namespace) && s.lints(ns) }
	for _, p := range s.objects.Problems {
		f := s.finding(p.Finding)
		f.File = p.File
		l.Findings = append(l.Findings, f)
	}
	for _, f := range s.allFindings() {
		if here(f.Object.Namespace) {
			l.Findings = append(l.Findings, s.finding(f))
		}
	}
	for _, key := range s.source.keys() {
		if here(key.Namespace) {
			l.Routes++
			l.Findings = append(l.Findings, s.findingsOf(key)...)
			l.Findings = append(l.Findings, s.perReplica(key)...)
			if why := s.source.unreadable[key]; why != "" {
				l.Notes = append(l.Notes, "the certificate of route "+key.String()+" was not checked: "+why)
			}
		}
	}
	s.lintGateways(l, here)
	for _, key := range slices.SortedFunc(maps.Keys(s.objects.Policies), compareKeys) {
		if here(key.Namespace) {
			l.Findings = append(l.Findings, s.policyFindings(key)...)
			l.Findings = append(l.Findings, s.perReplica(key)...)
		}
	}
	slices.SortStableFunc(l.Findings, func(a, b Finding) int {
		fileA, lineA := position(a.File)
		fileB, lineB := position(b.File)
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(lineA, lineB), cmp.Compare(a.Object, b.Object))
	})
	for _, f := range l.Findings {
		switch f.Severity {
		case api.SeverityError:
			l.Errors++
		case api.SeverityWarning:
			l.Warnings++
		case api.SeverityInfo:
			l.Infos++
		}
	}
	return l
}

// position splits "file:line".
func position(at string) (file string, line int) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return at, 0
	}
	n, err := strconv.Atoi(at[i+1:])
	if err != nil {
		return at, 0
	}
	return at[:i], n
}

// Text writes one line per finding: file:line: object field severity reason: message.
func (l *Lint) Text(w io.Writer) error {
	p := &printer{w: w}
	for _, f := range l.Findings {
		var b strings.Builder
		if f.File != "" {
			b.WriteString(f.File + ": ")
		}
		if f.Object != "" {
			b.WriteString(f.Object + " ")
		}
		if f.Field != "" {
			b.WriteString(f.Field + " ")
		}
		fmt.Fprintf(&b, "%s %s: %s", f.Severity, f.Reason, f.Message)
		if f.Effect != "" {
			b.WriteString("; " + f.Effect)
		}
		if f.Remedy != "" && f.Severity != api.SeverityInfo {
			b.WriteString(" → " + f.Remedy)
		}
		p.line("%s", b.String())
	}
	for _, n := range l.Notes {
		p.line("note: %s", n)
	}
	p.line("%s: %s, %s, %s", count(l.Routes, "route"), count(l.Errors, "error"), count(l.Warnings, "warning"), count(l.Infos, "hint"))
	return p.err
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// extraFindings are those that need not concern a running router, but the
// author of a manifest.
func (s *Snapshot) extraFindings(key model.Object) []Finding {
	var out []Finding
	find := func(severity api.Severity, field string, reason api.Reason, message, effect string) {
		r := s.source.routes[key]
		out = append(out, s.finding(api.Finding{Object: Ref(r), Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect}))
	}
	s.unknownAnnotations(key, find)
	s.servicePorts(key, find)
	s.certificateTime(key, find)
	s.openPath(key, find)
	s.twoDoors(key, find)
	return out
}

type finder func(severity api.Severity, field string, reason api.Reason, message, effect string)

// unknownAnnotations finds annotations that look like those of OpenShift's router,
// but are not. Of its own the router finds them itself.
func (s *Snapshot) unknownAnnotations(key model.Object, find finder) {
	annotations := s.source.routes[key].Annotations
	for _, k := range sortedKeys(annotations) {
		domain, _, _ := strings.Cut(k, "/")
		if domain != "haproxy.router.openshift.io" && domain != "router.openshift.io" || policy.Known(k) {
			continue
		}
		message := "the router does not read this annotation"
		if near, _ := policy.Nearest(k); near != "" {
			message += "; " + near + " may be meant"
		}
		find(api.SeverityWarning, "metadata.annotations["+k+"]", api.ReasonUnknownAnnotation, message, "it has no effect")
	}
}

// servicePorts checks the route's port against its Services, as far as there
// are no endpoints yet that the router could check.
func (s *Snapshot) servicePorts(key model.Object, find finder) {
	route := s.source.routes[key]
	if route.Spec.Port == nil || s.source.ingress[key] != "" {
		return
	}
	wanted := route.Spec.Port.TargetPort.String()
	for _, service := range s.pipeline.Services(key) {
		object := s.objects.Services[service]
		if object == nil || s.source.endpointsKnown(service) || len(object.Spec.Ports) == 0 {
			continue
		}
		var have []string
		found := false
		for _, p := range object.Spec.Ports {
			target := p.TargetPort.String()
			if p.TargetPort == (intstr.IntOrString{}) {
				target = strconv.Itoa(int(p.Port))
			}
			// The number behind a pod's port name is not known here.
			_, err := strconv.Atoi(target)
			found = found || p.Name == wanted || target == wanted || err != nil && route.Spec.Port.TargetPort.Type == intstr.Int
			have = append(have, strings.TrimLeft(p.Name+" → "+target, " →"))
		}
		if !found {
			find(api.SeverityWarning, "spec.port.targetPort", api.ReasonServicePortMissing,
				fmt.Sprintf("Service %s has no port with name or target %s; it has %s", service.Name, wanted, strings.Join(have, ", ")),
				"requests get a 503 page")
		}
	}
}

// certificateTime finds certificates outside of their time.
func (s *Snapshot) certificateTime(key model.Object, find finder) {
	c, _ := s.pipeline.Claim(key)
	if c == nil || c.Certificate == nil {
		return
	}
	block, _ := pem.Decode([]byte(c.Certificate.PEM))
	if block == nil {
		return
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return
	}
	const day = "2006-01-02"
	switch now := s.options.Now; {
	case now.After(leaf.NotAfter):
		find(api.SeverityWarning, "spec.tls", api.ReasonCertificateExpired, "the certificate expired on "+leaf.NotAfter.UTC().Format(day), "clients will refuse it")
	case now.Before(leaf.NotBefore):
		find(api.SeverityWarning, "spec.tls", api.ReasonCertificateExpired, "the certificate is valid from "+leaf.NotBefore.UTC().Format(day)+" on", "clients will refuse it until then")
	}
	if name := strings.Replace(c.Host, "*", anyLabel, 1); leaf.VerifyHostname(name) != nil {
		find(api.SeverityWarning, "spec.tls", api.ReasonCertificateHostMismatch, "the certificate does not cover "+c.Host, "clients will refuse it")
	}
}

// readyEndpoints counts the ready addresses of a Service.
func readyEndpoints(all []*discoveryv1.EndpointSlice) int {
	addresses := map[string]bool{}
	for _, s := range all {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				for _, a := range e.Addresses {
					addresses[a] = true
				}
			}
		}
	}
	return len(addresses)
}

// lintGateways adds what is wrong with the objects of the Gateway API.
func (s *Snapshot) lintGateways(l *Lint, here func(namespace string) bool) {
	g := s.gateways()
	if g == nil {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.served), compareKeys) {
		if !here(key.Namespace) {
			continue
		}
		l.Findings = append(l.Findings, s.gatewayFindings(g, key)...)
		if len(parentsOf(g.served[key])) > 0 {
			l.Routes++
		}
	}
}
