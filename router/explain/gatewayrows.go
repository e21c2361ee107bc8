package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// ListedKinds are the kinds of objects that Rows lists.
func ListedKinds() []string {
	kinds := []string{"Route"}
	for _, k := range gateway.RouteKinds() {
		kinds = append(kinds, string(k))
	}
	return kinds
}

// ListenerKinds are the kinds of objects that ListenerRows lists.
func ListenerKinds() []string {
	return []string{string(gateway.KindGateway), string(gateway.KindListenerSet)}
}

const (
	// listedNames is how many hosts, paths and parents of a route a row has. A route may have
	// thousands of paths, and there may be 10,000 routes.
	listedNames = 64
	// judgedClaims is how many claims of a route are looked at for whether another route has
	// their requests.
	judgedClaims = 64
)

func (s *Snapshot) gatewayRouteRow(g *gateways, key model.Object) Row {
	o := s.objects.Gateways[key]
	row := Row{Kind: string(key.Kind), Route: s.gatewayInfo(o), State: RowServed, Hosts: hostnamesOf(o)}
	if len(row.Hosts) > 0 {
		row.Route.Host = row.Hosts[0]
	}
	for _, r := range first(parentsOf(o), listedNames) {
		row.Parents = append(row.Parents, parentText(&r, key.Namespace))
	}
	if g.served[key] == nil {
		row.State, row.Why = RowNotSelected, "it names no Gateway"
		if refs := parentsOf(o); len(refs) > 0 {
			row.Why = s.foreignParent(&refs[0], key.Namespace)
		}
		return row
	}
	for _, service := range g.pipeline.Services(key) {
		if !slices.Contains(row.Services, service.Name) && len(row.Services) < listedNames {
			row.Services = append(row.Services, service.Name)
		}
	}
	all, served := g.pipeline.Claims(key)
	row.judge(s.gatewayFindings(g, key), len(served) > 0)
	row.paths(all)
	if len(served) == 0 {
		return row
	}
	row.Route.Termination = g.termination(served, len(g.pipeline.Status(key).TLSPolicies) > 0)
	s.judgeClaims(g, &row, served)
	if pods, known := g.podsOf(served); known || pods > 0 {
		row.Pods = &pods
	}
	return row
}

func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// gatewayInfo names an object of the Gateway API.
func (s *Snapshot) gatewayInfo(o metav1.Object) RouteInfo {
	info := RouteInfo{Namespace: o.GetNamespace(), Name: o.GetName(), File: s.objects.Files[refOf(o)]}
	if t := o.GetCreationTimestamp(); !t.IsZero() && (!s.objects.Offline || !t.Time.Equal(s.options.Now)) {
		utc := t.UTC()
		info.Created = &utc
	}
	return info
}

func hostnamesOf(o metav1.Object) (hosts []string) {
	var all []gatewayv1.Hostname
	switch v := o.(type) {
	case *gatewayv1.HTTPRoute:
		all = v.Spec.Hostnames
	case *gatewayv1.GRPCRoute:
		all = v.Spec.Hostnames
	case *gatewayv1.TLSRoute:
		all = v.Spec.Hostnames
	}
	for _, h := range first(all, listedNames) {
		hosts = append(hosts, string(h))
	}
	return hosts
}

// paths notes those of all claims, each once.
func (row *Row) paths(all []*model.Claim) {
	for _, c := range all {
		path := c.Path
		if e := c.Expression(); e != nil {
			path = e.Written
		}
		if len(row.Paths) < listedNames && path != "" && !slices.Contains(row.Paths, path) {
			row.Paths = append(row.Paths, path)
		}
	}
	if len(row.Paths) > 0 {
		row.Route.Path = row.Paths[0]
	}
}

// termination is where TLS of a route ends, as Routes have it: at the first listener that has any.
func (g *gateways) termination(served []*model.Claim, toPods bool) string {
	for _, c := range served {
		scope := c.Listener()
		switch l := g.byScope[scope]; {
		case l.EndsRequests && toPods:
			return string(model.Reencrypt)
		case l.EndsRequests || l.EndsStreams:
			return string(model.Edge)
		case c.Owner.Kind == gateway.KindTLSRoute:
			return string(model.Passthrough)
		}
	}
	return ""
}

// judgeClaims adds what the claims say that are served: an error of one rule does not close
// the others, and a route may be accepted and get nothing, because another one goes first.
func (s *Snapshot) judgeClaims(g *gateways, row *Row, served []*model.Claim) {
	open, elsewhere, result := false, true, ""
	for _, c := range served {
		open = open || !c.Closed
	}
	if open && row.State == RowClosed {
		row.State = RowWarns
	}
	if !open {
		row.State = RowClosed
		row.Why = cmp.Or(row.Why, closedByPolicy)
	}
	if len(served) > judgedClaims {
		return
	}
	for _, c := range served {
		if reach, comes := s.reachOf(g, c); comes {
			elsewhere = elsewhere && reach.elsewhere
			result = cmp.Or(result, reach.Result)
		}
	}
	if elsewhere && result != "" && row.State == RowServed {
		row.State, row.Why = RowWarns, result
	}
}

// podsOf counts the endpoints that take requests of claims. It is known that there are none
// only if the endpoints of all their Services are known.
func (g *gateways) podsOf(served []*model.Claim) (n int, known bool) {
	pods := map[string]struct{}{}
	known = true
	for _, c := range served {
		for _, p := range podsOfClaim(c) {
			if p.Weight > 0 {
				pods[p.Address] = struct{}{}
			}
		}
	}
	if len(pods) == 0 {
		for _, service := range g.pipeline.Services(served[0].Owner) {
			known = known && g.endpointsKnown(service)
		}
	}
	return len(pods), known
}

// listenerAt is a listener of an object.
type listenerAt struct {
	owner model.Object
	name  string
}

// attached counts the routes at each listener.
func (g *gateways) attached() map[listenerAt]int {
	n := map[listenerAt]int{}
	for key := range g.served {
		seen := map[listenerAt]bool{}
		for _, p := range g.pipeline.Status(key).Parents {
			for _, l := range p.Listeners {
				if at := (listenerAt{p.Parent, l}); !seen[at] {
					seen[at] = true
					n[at]++
				}
			}
		}
	}
	return n
}

// listener is one of a spec, as far as the list shows it.
type listener struct {
	name, host, protocol, termination string
	port                              int
}

func listenersOf(o metav1.Object) (all []listener) {
	add := func(name gatewayv1.SectionName, host *gatewayv1.Hostname, protocol gatewayv1.ProtocolType, port int32, tls *gatewayv1.ListenerTLSConfig) {
		l := listener{name: string(name), protocol: string(protocol), port: int(port)}
		if host != nil {
			l.host = string(*host)
		}
		switch protocol {
		case gatewayv1.HTTPSProtocolType:
			l.termination = string(model.Edge)
		case gatewayv1.TLSProtocolType:
			l.termination = string(model.Edge)
			if tls != nil && tls.Mode != nil && *tls.Mode == gatewayv1.TLSModePassthrough {
				l.termination = string(model.Passthrough)
			}
		default:
		}
		all = append(all, l)
	}
	switch v := o.(type) {
	case *gatewayv1.Gateway:
		for i := range v.Spec.Listeners {
			l := &v.Spec.Listeners[i]
			add(l.Name, l.Hostname, l.Protocol, l.Port, l.TLS)
		}
	case *gatewayv1.ListenerSet:
		for i := range v.Spec.Listeners {
			l := &v.Spec.Listeners[i]
			add(l.Name, l.Hostname, l.Protocol, l.Port, l.TLS)
		}
	}
	return all
}

func (s *Snapshot) listenerRows(g *gateways, key model.Object, attached map[listenerAt]int) (rows []Row) {
	o := s.objects.Gateways[key]
	base := Row{Kind: string(key.Kind), Route: s.gatewayInfo(o), State: RowServed}
	if set, ok := o.(*gatewayv1.ListenerSet); ok {
		if parent, ok := gateway.SetGateway(set); ok {
			base.Parents = []string{kindAndName(parent)}
		}
	}
	var findings []Finding
	said := map[string]model.ListenerStatus{}
	if g.served[key] == nil {
		base.State, base.Why = RowNotSelected, "its Gateway is not this router's"
		if of, ok := o.(*gatewayv1.Gateway); ok {
			base.Why = s.unserved(of)
		}
	} else {
		st := g.pipeline.Status(key)
		for _, f := range st.Findings {
			findings = append(findings, s.finding(f))
		}
		for _, l := range st.Listeners {
			said[l.Name] = l
		}
	}
	all := listenersOf(o)
	if len(all) == 0 { // it stands in the list nevertheless
		if base.State == RowServed {
			base.State, base.Why = RowWarns, "it has no listeners"
		}
		return []Row{base}
	}
	for i, l := range all {
		row := base
		row.Listener, row.Port, row.Protocol, row.Route.Host, row.Route.Termination = l.name, l.port, l.protocol, l.host, l.termination
		if base.State != RowNotSelected {
			n := attached[listenerAt{key, l.name}]
			row.Attached = &n
			s.judgeListener(g, &row, said[l.name], ofField(findings, fmt.Sprintf("spec.listeners[%d]", i)))
		}
		rows = append(rows, row)
	}
	return rows
}

// judgeListener adds what the router says of a listener.
func (s *Snapshot) judgeListener(g *gateways, row *Row, said model.ListenerStatus, findings []Finding) {
	at, served := g.byScope[said.Scope]
	served = served && said.Name != ""
	for _, c := range said.Conditions {
		if good := c.Type != string(gatewayv1.ListenerConditionConflicted); c.True != good && c.Reason != "" && goodIfTrue(c.Type) {
			row.State, row.Why = RowWarns, cmp.Or(row.Why, c.Message, c.Reason)
			row.Reasons = append(row.Reasons, api.Reason(c.Reason))
		}
	}
	for _, f := range findings {
		if !slices.Contains(row.Reasons, f.Reason) {
			row.Reasons = append(row.Reasons, f.Reason)
		}
		if f.Severity != api.SeverityInfo && row.State == RowServed {
			row.State, row.Why = RowWarns, f.Message
		}
	}
	if !served {
		row.State, row.Why = RowRefused, cmp.Or(row.Why, "the router does not serve it")
		return
	}
	if len(at.Certificates) > 0 {
		c := Cert{Host: row.Route.Host, State: certOK}
		c.fill(certificate.Parse(at.Certificates[0].PEM), s.options.Now, 0)
		row.Certificate = c.State
	}
}

// ofField returns the findings about a field or what is in it.
func ofField(findings []Finding, field string) (out []Finding) {
	for _, f := range findings {
		if strings.HasPrefix(f.Field, field) {
			out = append(out, f)
		}
	}
	return out
}

// goodIfTrue reports whether a condition says that something is wrong, or right.
func goodIfTrue(kind string) bool {
	return slices.Contains([]string{
		string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerConditionResolvedRefs), string(gatewayv1.ListenerConditionConflicted),
	}, kind)
}
