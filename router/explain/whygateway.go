package explain

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// WhyParent is what the router says of one parentRef of a route.
type WhyParent struct {
	// Parent is "gateway/ns/name" or "listenerset/ns/name", with "#SECTION" and ":PORT" as
	// far as the route names them.
	Parent string `json:"parent"`
	// Listeners are those that the route is attached to.
	Listeners  []string       `json:"listeners,omitempty"`
	Conditions []WhyCondition `json:"conditions,omitempty"`
	// Foreign says why the parent is not this router's, if it is not.
	Foreign string `json:"foreign,omitempty"`
}

// WhyListener is one listener of a Gateway or ListenerSet.
type WhyListener struct {
	Name       string         `json:"name"`
	Port       int            `json:"port,omitempty"`
	Hostname   string         `json:"hostname,omitempty"`
	Served     bool           `json:"served"`
	Conditions []WhyCondition `json:"conditions,omitempty"`
	// Routes are those that are attached, as "httproute/ns/name".
	Routes []string `json:"routes,omitempty"`
}

// gatewayKinds are the kinds of the Gateway API that why knows, by what users type.
var gatewayKinds = map[string]model.Kind{
	"gateway": gateway.KindGateway, "gateways": gateway.KindGateway, "gtw": gateway.KindGateway,
	"listenerset": gateway.KindListenerSet, "listenersets": gateway.KindListenerSet,
	"httproute": gateway.KindHTTPRoute, "httproutes": gateway.KindHTTPRoute,
	"grpcroute": gateway.KindGRPCRoute, "grpcroutes": gateway.KindGRPCRoute,
	"tlsroute": gateway.KindTLSRoute, "tlsroutes": gateway.KindTLSRoute,
	"tcproute": gateway.KindTCPRoute, "tcproutes": gateway.KindTCPRoute,
	"udproute": gateway.KindUDPRoute, "udproutes": gateway.KindUDPRoute,
}

// whyGatewayObject says what an object of the Gateway API does.
func (s *Snapshot) whyGatewayObject(y *Why, key model.Object) error {
	o := s.objects.Gateways[key]
	if o == nil {
		return s.missing(string(key.Kind), key)
	}
	for _, gap := range s.objects.Gaps {
		if OfGatewayAPI(gap.Kind) {
			y.Notes = append(y.Notes, gap.String())
		}
	}
	g := s.gateways()
	if g.served[key] != nil {
		for _, f := range g.pipeline.Status(key).Findings {
			y.Findings = append(y.Findings, s.finding(f))
		}
		y.Findings = append(y.Findings, s.gatewayTwoDoors(g, key)...)
	}
	if key.Kind == gateway.KindGateway || key.Kind == gateway.KindListenerSet {
		s.whyListeners(y, g, key)
		return nil
	}
	s.whyParents(y, g, key)
	if g.served[key] == nil {
		return nil
	}
	all, _ := g.pipeline.Claims(key)
	for _, c := range all {
		if reach, comes := s.reachOf(g, c); comes {
			y.Served = y.Served || reach.Served
			y.Reach = append(y.Reach, reach)
		}
	}
	y.Policies = groups(g.pipeline.Effective(key))
	s.unservedListeners(y, g, key)
	return nil
}

// unservedListeners names the listeners that a route is attached to and that are not served.
func (s *Snapshot) unservedListeners(y *Why, g *gateways, key model.Object) {
	for _, p := range g.pipeline.Status(key).Parents {
		if g.served[p.Parent] == nil {
			continue
		}
		for _, l := range g.pipeline.Status(p.Parent).Listeners {
			if _, served := g.byScope[l.Scope]; !served && slices.Contains(p.Listeners, l.Name) {
				y.next("listener %s is not served: %s", l.Name, terminal.Command("kubectl", "fairlead", "why", strings.ToLower(string(p.Parent.Kind))+"/"+p.Parent.Name, "-n", p.Parent.Namespace))
			}
		}
	}
}

// whyParents says what becomes of each parentRef.
func (s *Snapshot) whyParents(y *Why, g *gateways, key model.Object) {
	refs := parentsOf(s.objects.Gateways[key])
	if len(refs) == 0 {
		y.next("the route names no Gateway; set spec.parentRefs")
	}
	var said []model.ParentStatus
	if g.served[key] != nil {
		said = g.pipeline.Status(key).Parents
	}
	for i := range refs {
		p := WhyParent{Parent: parentText(&refs[i], key.Namespace)}
		text, _ := json.Marshal(refs[i])
		j := slices.IndexFunc(said, func(st model.ParentStatus) bool { return st.Ref == string(text) })
		if j < 0 {
			p.Foreign = s.foreignParent(&refs[i], key.Namespace)
			y.next("%s: %s", p.Parent, p.Foreign)
		} else {
			p.Listeners, p.Conditions = said[j].Listeners, s.whyConditions(said[j].Conditions)
		}
		y.Parents = append(y.Parents, p)
	}
}

// foreignParent says why a parentRef is not this router's.
func (s *Snapshot) foreignParent(r *gatewayv1.ParentReference, namespace string) string {
	key, ok := gateway.Parent(r, namespace)
	if !ok {
		return "parents of this kind are not Fairlead's; name a Gateway or a ListenerSet"
	}
	o := s.objects.Gateways[key]
	if set, ok := o.(*gatewayv1.ListenerSet); ok {
		if key, ok = gateway.SetGateway(set); !ok {
			return "the ListenerSet names no Gateway"
		}
		o = s.objects.Gateways[key]
	}
	of, ok := o.(*gatewayv1.Gateway)
	if !ok {
		return s.missing(string(key.Kind), key).Error()
	}
	return s.unserved(of)
}

func parentText(r *gatewayv1.ParentReference, namespace string) string {
	key, _ := gateway.Parent(r, namespace)
	text := strings.ToLower(string(cmp.Or(key.Kind, model.Kind(kindOf(r))))) + "/" + cmp.Or(key.Namespace, namespace) + "/" + string(r.Name)
	if r.SectionName != nil {
		text += "#" + string(*r.SectionName)
	}
	if r.Port != nil {
		text += ":" + strconv.Itoa(int(*r.Port))
	}
	return text
}

func kindOf(r *gatewayv1.ParentReference) string {
	if r.Kind != nil {
		return string(*r.Kind)
	}
	return string(gateway.KindGateway)
}

func (s *Snapshot) whyConditions(all []model.StatusCondition) (out []WhyCondition) {
	for _, c := range all {
		status := "False"
		if c.True {
			status = "True"
		}
		out = append(out, WhyCondition{Type: c.Type, Status: status, Reason: c.Reason, Message: s.said(c.Message)})
	}
	return out
}

// whyListeners says what becomes of the listeners of a Gateway or ListenerSet.
func (s *Snapshot) whyListeners(y *Why, g *gateways, key model.Object) {
	if g.served[key] == nil {
		why := "its Gateway is not this router's"
		if of, ok := s.objects.Gateways[key].(*gatewayv1.Gateway); ok {
			why = s.unserved(of)
		}
		y.next("%s", why)
		return
	}
	attached := map[string][]string{}
	for _, route := range slices.SortedFunc(maps.Keys(g.served), compareKeys) {
		for _, p := range g.pipeline.Status(route).Parents {
			if p.Parent == key {
				for _, l := range p.Listeners {
					attached[l] = append(attached[l], kindAndName(route))
				}
			}
		}
	}
	st := g.pipeline.Status(key)
	for _, l := range st.Listeners {
		w := WhyListener{Name: l.Name, Conditions: s.whyConditions(l.Conditions), Routes: slices.Compact(attached[l.Name])}
		if at, ok := g.byScope[l.Scope]; ok {
			w.Served, w.Port, w.Hostname = true, at.Port, at.Hostname
			y.Served = true
		}
		y.Listeners = append(y.Listeners, w)
	}
	y.Conditions = s.whyConditions(st.Conditions)
}

// printGateway writes what is of the Gateway API.
func (y *Why) printGateway(p *printer) {
	conditions := func(indent string, all []WhyCondition) {
		var rows [][]string
		for _, c := range all {
			rows = append(rows, []string{indent + c.Type, c.Status, c.Reason, c.Message})
		}
		p.table(rows)
	}
	conditions("  ", y.Conditions)
	for _, parent := range y.Parents {
		at := ""
		if len(parent.Listeners) > 0 {
			at = ", at " + strings.Join(parent.Listeners, ", ")
		}
		p.line("\nParent %s%s", parent.Parent, at)
		if parent.Foreign != "" {
			p.line("  %s", parent.Foreign)
		}
		conditions("  ", parent.Conditions)
	}
	if len(y.Reach) > 0 {
		p.line("")
		p.table(reachRows(y.Reach))
	}
	if len(y.Policies) > 0 {
		p.line("\nPolicies")
		var rows [][]string
		for _, policy := range y.Policies {
			rows = append(rows, []string{"  " + policy.Name, policy.Value, policy.Source})
		}
		p.table(rows)
	}
	for _, l := range y.Listeners {
		at := "not served"
		if l.Served {
			at = "port " + strconv.Itoa(l.Port) + ", " + cmp.Or(l.Hostname, "any host")
		}
		p.line("\nListener %s: %s", l.Name, at)
		conditions("  ", l.Conditions)
		for _, r := range l.Routes {
			p.line("  %s", r)
		}
	}
}

// gatewayNext says how to see more.
func (y *Why) gatewayNext(key model.Object) {
	if y.Served || len(y.Next) > 0 {
		return
	}
	y.next("see what the router has written: %s", terminal.Command("kubectl", "-n", key.Namespace, "describe", strings.ToLower(string(key.Kind)), key.Name))
}
