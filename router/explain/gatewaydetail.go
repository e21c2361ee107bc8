package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// GatewayDetail is all that there is to say about one object of the Gateway API.
type GatewayDetail struct {
	// Row is that of a route, Listeners are those of a Gateway or ListenerSet.
	Row       Row
	Listeners []Row
	// Why has what comes in by which parent, and what becomes of it; Findings include those
	// of parents that do not accept a route.
	Why      *Why
	Findings []Finding
	// Pods are the endpoints of a route's Services, those that are not ready included.
	Pods []Pod
	// PodsKnown is false if the endpoints could not be read, or the manifests have none.
	PodsKnown bool
	// Words are the conditions that controllers have written into the status.
	Words []StatusWord
	// Addresses are those of a Gateway, by its status.
	Addresses []string
	Manifest  string
}

// StatusWord is one condition of the status of an object.
type StatusWord struct {
	// At is the parent or listener that it is about, empty for the object itself. Controller
	// wrote it, as far as the status says who.
	At, Controller, Type, Status, Reason, Message string
}

// GatewayDetail returns what there is to say about an object of the Gateway API. The error
// says what to ask instead.
func (s *Snapshot) GatewayDetail(kind, namespace, name string) (*GatewayDetail, error) {
	y, err := s.Why(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	key := model.Object{Kind: gatewayKinds[strings.ToLower(kind)], Namespace: namespace, Name: name}
	o, g := s.objects.Gateways[key], s.gateways()
	if o == nil {
		return nil, fmt.Errorf("%s is no kind of the Gateway API", kind)
	}
	d := &GatewayDetail{Why: y, Words: statusWords(o), PodsKnown: true}
	if slices.Contains(ListenerKinds(), string(key.Kind)) {
		d.Listeners = s.listenerRows(g, key, g.attached())
		d.Row = Row{Kind: string(key.Kind), Route: s.gatewayInfo(o), State: worstOf(d.Listeners)}
		d.Findings = y.Findings
		if of, ok := o.(*gatewayv1.Gateway); ok {
			for _, a := range of.Status.Addresses {
				d.Addresses = append(d.Addresses, a.Value)
			}
		}
	} else {
		d.Row = s.gatewayRouteRow(g, key)
		if g.served[key] != nil {
			d.Findings = s.gatewayFindings(g, key)
			d.Pods, d.PodsKnown = s.gatewayPods(g, key)
		}
	}
	d.Manifest, err = plainManifest(o)
	return d, err
}

// worstOf is the worst state of listeners that this router serves.
func worstOf(rows []Row) RowState {
	states := RowStates()
	worst := len(states) - 1
	for i := range rows {
		worst = min(worst, slices.Index(states, rows[i].State))
	}
	return states[worst]
}

// gatewayPods lists the endpoints of a route, with their shares of the backend that they are
// in, and then those that are not ready.
func (s *Snapshot) gatewayPods(g *gateways, key model.Object) (out []Pod, known bool) {
	_, served := g.pipeline.Claims(key)
	seen := map[Pod]bool{}
	add := func(p Pod) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, c := range served {
		for _, p := range podsOfClaim(c) {
			add(p)
		}
	}
	known = true
	for _, service := range g.pipeline.Services(key) {
		known = known && g.endpointsKnown(service)
		for _, p := range s.notReady(service) {
			add(p)
		}
	}
	return out, known
}

// podsOfClaim lists the endpoints that a claim leads to.
func podsOfClaim(c *model.Claim) (out []Pod) {
	for b := range c.Backends() {
		total := 0
		for i := range b.Servers {
			total += b.Servers[i].Weight
		}
		for i := range b.Servers {
			p := podOf(&b.Servers[i])
			if total > 0 {
				p.Share = percent(b.Servers[i].Weight, total)
			}
			out = append(out, p)
		}
	}
	if c.Datagrams != nil {
		for _, t := range c.Datagrams.Targets {
			for _, at := range t.Pods {
				out = append(out, Pod{Address: at.String(), Ready: true, Weight: t.Weight})
			}
		}
	}
	return out
}

// podOf describes a server.
func podOf(server *model.Server) Pod {
	p := Pod{Address: server.Address.String(), Ready: true, Weight: server.Weight}
	if parts := strings.SplitN(server.ID, ":", 4); len(parts) == 4 {
		p.Service = parts[2]
		if parts[0] == "pod" {
			p.Name = parts[1]
		}
	}
	return p
}

// statusWords are the conditions that stand in an object.
func statusWords(o metav1.Object) (out []StatusWord) {
	add := func(at, controller string, all []metav1.Condition) {
		for _, c := range all {
			out = append(out, StatusWord{At: at, Controller: controller, Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message})
		}
	}
	parents := func(st *gatewayv1.RouteStatus) {
		for i := range st.Parents {
			p := &st.Parents[i]
			add(parentText(&p.ParentRef, o.GetNamespace()), string(p.ControllerName), p.Conditions)
		}
	}
	switch v := o.(type) {
	case *gatewayv1.HTTPRoute:
		parents(&v.Status.RouteStatus)
	case *gatewayv1.GRPCRoute:
		parents(&v.Status.RouteStatus)
	case *gatewayv1.TLSRoute:
		parents(&v.Status.RouteStatus)
	case *gatewayv1.TCPRoute:
		parents(&v.Status.RouteStatus)
	case *gatewayv1.UDPRoute:
		parents(&v.Status.RouteStatus)
	case *gatewayv1.Gateway:
		add("", "", v.Status.Conditions)
		for i := range v.Status.Listeners {
			add("listener "+string(v.Status.Listeners[i].Name), "", v.Status.Listeners[i].Conditions)
		}
	case *gatewayv1.ListenerSet:
		add("", "", v.Status.Conditions)
		for i := range v.Status.Listeners {
			add("listener "+string(v.Status.Listeners[i].Name), "", v.Status.Listeners[i].Conditions)
		}
	}
	return out
}

// plainManifest returns an object in YAML, without status, without what the API server keeps
// for itself, and without private keys that a user has pasted.
func plainManifest(o metav1.Object) (string, error) {
	name := fmt.Sprintf("%s %s/%s", refOf(o).Kind, o.GetNamespace(), o.GetName())
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("write %s as JSON: %w", name, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return "", fmt.Errorf("write %s as YAML: %w", name, err)
	}
	delete(tree, "status")
	tree["apiVersion"], tree["kind"] = gatewayv1.GroupVersion.String(), refOf(o).Kind
	if m, ok := tree["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
		if a, ok := m["annotations"].(map[string]any); ok {
			delete(a, lastApplied)
		}
	}
	out, err := yaml.Marshal(withoutKeys(tree))
	if err != nil {
		return "", fmt.Errorf("write %s as YAML: %w", name, err)
	}
	return string(out), nil
}

// withoutKeys replaces private keys in all texts of a tree.
func withoutKeys(v any) any {
	switch v := v.(type) {
	case string:
		return anyKey.ReplaceAllString(v, keyLeftOut)
	case []any:
		for i := range v {
			v[i] = withoutKeys(v[i])
		}
		return v
	case map[string]any:
		for name, child := range v {
			v[name] = withoutKeys(child)
		}
		return v
	}
	return v
}

// HostReach is what a route of the Gateway API asks for at a host, and what becomes of it.
type HostReach struct {
	Kind, Namespace, Name string
	// Listener is where it comes in, and At the Gateway or ListenerSet of the listener.
	Listener, At string
	Reach        Reach
}

// HostReaches lists what routes of Gateways ask for at a host: by listener, in the order in
// which it is tried.
func (s *Snapshot) HostReaches(host string) (out []HostReach) {
	g := s.gateways()
	if g == nil {
		return nil
	}
	host = match.Host(host)
	var claims []*model.Claim
	for key := range g.served {
		_, served := g.pipeline.Claims(key)
		for _, c := range served {
			if g.asksFor(c, host) {
				claims = append(claims, c)
			}
		}
	}
	slices.SortFunc(claims, func(a, b *model.Claim) int {
		x, y := a.Listener(), b.Listener()
		return cmp.Or(cmp.Compare(x, y), trueFirst(moreSpecific(a, b), moreSpecific(b, a)), model.ByAge(a, b), compareKeys(a.Owner, b.Owner), cmp.Compare(a.Rule, b.Rule))
	})
	for _, c := range claims {
		reach, comes := s.reachOf(g, c)
		if !comes {
			continue
		}
		scope := c.Listener()
		l := g.byScope[scope]
		out = append(out, HostReach{
			Kind: string(c.Owner.Kind), Namespace: c.Owner.Namespace, Name: c.Owner.Name, Listener: g.plainListenerName(l), At: kindAndName(l.Owner), Reach: reach,
		})
	}
	return out
}

// asksFor reports whether a claim is for a host: by its own name, by a wildcard, or for all
// hosts of its listener.
func (g *gateways) asksFor(c *model.Claim, host string) bool {
	scope := c.Listener()
	_, name := model.SplitHost(c.Host)
	l, served := g.byScope[scope]
	if !served || c.Owner.Kind == gateway.KindTCPRoute || c.Owner.Kind == gateway.KindUDPRoute {
		return false
	}
	if name == match.Any {
		name = cmp.Or(l.Hostname, "*")
	}
	return name == host || name == "*" || strings.HasPrefix(name, "*.") && strings.HasSuffix(host, name[1:]) && len(host) >= len(name)
}

func (g *gateways) plainListenerName(l model.Listener) string {
	for _, st := range g.pipeline.Status(l.Owner).Listeners {
		if st.Scope == l.Scope {
			return st.Name
		}
	}
	return cmp.Or(l.Hostname, "any host")
}
