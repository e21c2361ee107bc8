package explain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// unlikeness is what a converted route does otherwise than its Route.
type unlikeness struct {
	// weaker is what protects the Route and not the converted one, other is all else.
	weaker, other []string
	// open says that requests get through, and hsts that some answers have the header.
	open, hsts bool
}

// compareConverted decides about converted objects as the router does, and compares the
// claims of each route with that of its Route.
func (s *Snapshot) compareConverted(in *convert.Input, out *convert.Output) (map[model.Object]*unlikeness, error) {
	after := s.objects.copied()
	after.Routes, after.Ingresses = nil, nil
	for _, o := range out.Objects {
		after.Add(o)
	}
	s.assumeGateway(after, in)
	converted, err := NewSnapshot(after, s.options)
	if err != nil {
		return nil, fmt.Errorf("decide about the converted objects: %w", err)
	}
	g := converted.gateways()
	all, refused := map[model.Object]*unlikeness{}, g.refusedListeners(out.Objects)
	for i := range in.Sources {
		source := &in.Sources[i]
		if len(source.Claims) == 0 || g == nil {
			continue
		}
		d, own := &unlikeness{}, source.Claims[0]
		for _, key := range out.Made[routeKey(source.Route)] {
			d.compare(own, g, refused, key)
		}
		if own.Backend.Policy().HSTS != "" && d.open && !d.hsts {
			d.note(&d.weaker, "Strict-Transport-Security")
		}
		all[routeKey(source.Route)] = d
	}
	return all, nil
}

// refusedListeners says why the router serves no requests by listeners of converted objects. A
// Secret that is to be created is no reason.
func (g *gateways) refusedListeners(objects []metav1.Object) map[model.ScopeID]string {
	refused := map[model.ScopeID]string{}
	if g == nil {
		return refused
	}
	for _, o := range objects {
		key := model.Object{Namespace: o.GetNamespace(), Name: o.GetName()}
		switch o.(type) {
		case *gatewayv1.Gateway:
			key.Kind = gateway.KindGateway
		case *gatewayv1.ListenerSet:
			key.Kind = gateway.KindListenerSet
		default:
			continue
		}
		for _, l := range g.pipeline.Status(key).Listeners {
			for _, c := range l.Conditions {
				if c.Type == string(gatewayv1.ListenerConditionAccepted) && !c.True {
					refused[l.Scope] = fmt.Sprintf("listener %s of %s %s/%s is refused: %s", l.Name, key.Kind, key.Namespace, key.Name, c.Message)
				}
			}
		}
	}
	return refused
}

// assumeGateway adds the class of new Gateways, and the Gateway that ListenerSets are to be
// added to, where they are not known, and has that one allow them: whether it does is its
// owner's to decide, and not the conversion's.
func (s *Snapshot) assumeGateway(after *Objects, in *convert.Input) {
	if after.Gateways[model.Object{Kind: "GatewayClass", Name: in.Class}] == nil {
		class := &gatewayv1.GatewayClass{}
		namespace := gatewayv1.Namespace(api.OperatorNamespace)
		class.Name, class.Spec.ControllerName = in.Class, gatewayapi.ControllerName
		class.Spec.ParametersRef = &gatewayv1.ParametersReference{Group: gatewayv1.Group(operatorv1.GroupName), Kind: "IngressController", Name: s.options.Router, Namespace: &namespace}
		after.Add(class)
	}
	if in.Gateway.Name == "" {
		return
	}
	all := gatewayv1.NamespacesFromAll
	g := &gatewayv1.Gateway{}
	g.Namespace, g.Name, g.Spec.GatewayClassName = in.Gateway.Namespace, in.Gateway.Name, gatewayv1.ObjectName(in.Class)
	// A port that no listener of a ListenerSet asks for.
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "own", Port: 8081, Protocol: gatewayv1.HTTPProtocolType}}
	if known := s.gatewayOf(in.Gateway); known != nil {
		g = known.DeepCopy()
	}
	g.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &all}}
	after.Add(g)
}

// gatewayOf returns a Gateway that is known, or nil.
func (s *Snapshot) gatewayOf(key model.Object) *gatewayv1.Gateway {
	g, _ := s.objects.Gateways[model.Object{Kind: gateway.KindGateway, Namespace: key.Namespace, Name: key.Name}].(*gatewayv1.Gateway)
	return g
}

// compare compares the claim of a Route with those of a converted one.
func (d *unlikeness) compare(was *model.Claim, g *gateways, refused map[model.ScopeID]string, key model.Object) {
	st := g.pipeline.Status(key)
	d.noteStatus(key, st)
	all, _ := g.pipeline.Claims(key)
	if len(all) == 0 {
		d.note(&d.weaker, fmt.Sprintf("no listener of a Gateway of router %s serves %s %s", g.snapshot.options.Router, key.Kind, key.Name))
	}
	for _, is := range all {
		scope := is.Listener()
		switch {
		case refused[scope] != "":
			d.note(&d.weaker, refused[scope])
		case is.Answer != 0 || was.Closed: // nothing gets through
		case is.Closed:
			d.note(&d.weaker, closedBecause(st.Findings))
		default:
			d.compareOpen(was, is, key.Kind == gateway.KindGRPCRoute)
		}
	}
}

// noteStatus notes what the status of a converted route says.
func (d *unlikeness) noteStatus(key model.Object, st model.RouteStatus) {
	for _, p := range st.Parents {
		for _, c := range p.Conditions {
			if !c.True {
				d.note(&d.other, fmt.Sprintf("%s %s has %s=False, %s: %s", key.Kind, key.Name, c.Type, c.Reason, c.Message))
			}
		}
	}
	for _, f := range st.Findings {
		if f.Severity != api.SeverityInfo {
			d.note(&d.other, strings.TrimSpace(string(f.Reason)+": "+f.Message)+"; "+f.Effect)
		}
	}
}

// compareOpen compares claims by which requests get through.
func (d *unlikeness) compareOpen(was, is *model.Claim, calls bool) {
	d.open = true
	d.hsts = d.hsts || slices.ContainsFunc(is.Backend.Policy().ResponseHeaders, isHSTS)
	for _, text := range weakness(was, is) {
		d.note(&d.weaker, text)
	}
	for _, text := range otherwise(was.Backend.Policy(), is.Backend.Policy(), calls) {
		d.note(&d.other, text)
	}
}

func (d *unlikeness) note(list *[]string, text string) {
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// weakness lists what keeps requests out of a Route, or in safe hands, and is not as strict in
// a converted claim.
func weakness(was, is *model.Claim) (lost []string) {
	p, q := was.Backend.Policy(), is.Backend.Policy()
	for _, check := range []struct {
		name string
		good bool
	}{
		{"the list of clients that are admitted", !p.Restricted || q.Restricted && policy.Within(q.Allow, p.Allow)},
		{"the list of clients that are refused", policy.Within(p.Deny, q.Deny)},
		{"limits of requests", limited(p, q)},
		{"limits of sizes", atMost(p.Sizes.Body, q.Sizes.Body) && atMost(p.Sizes.URI, q.Sizes.URI) && atMost(p.Sizes.Headers, q.Sizes.Headers)},
		{"the login", p.Agent == nil || q.Agent != nil && p.Agent.Content == q.Agent.Content && p.Agent.Strips == q.Agent.Strips},
		{"the API keys", p.APIKeys == nil || reflect.DeepEqual(p.APIKeys, q.APIKeys)},
		{"certificates of clients", p.Certificate == nil},
		{"the firewall", q.Firewall.Covers(p.Firewall)},
		{"headers that clients cannot forge", p.Forwarded != model.ForwardedReplace || q.Forwarded == model.ForwardedReplace},
		{"changes of headers of requests", sameHeaders(p.RequestHeaders, q.RequestHeaders)},
		{"changes of headers of answers", sameHeaders(p.ResponseHeaders, slices.DeleteFunc(slices.Clone(q.ResponseHeaders), isHSTS))},
		{"redirects in place of answers", len(p.Redirects) == 0 || reflect.DeepEqual(p.Redirects, q.Redirects)},
		{"the check of the certificates of pods", was.Backend.CA == nil || sameAuthority(was, is)},
		{"TLS to pods", was.Termination != model.Reencrypt || is.Backend.CA != nil},
		{"maintenance", p.Maintenance == nil || reflect.DeepEqual(p.Maintenance, q.Maintenance)},
	} {
		if !check.good {
			lost = append(lost, check.name)
		}
	}
	return lost
}

// atMost reports whether a limit holds that is as strict as another one, of which 0 is none.
func atMost[T int | int64](limit, now T) bool { return limit == 0 || now != 0 && now <= limit }

// limited reports whether all limits of the first policy hold by the second one.
func limited(p, q *model.Policy) bool {
	within := func(most int, per time.Duration) bool {
		return most == 0 || slices.ContainsFunc(q.Rates, func(r model.RateLimit) bool {
			return byAddress(r.Key) && !r.DryRun && len(r.Exempt) == 0 && r.Per == per && r.Burst-1+r.Requests <= most
		})
	}
	concurrent := func(most int, key model.LimitKey) bool {
		return most == 0 || slices.ContainsFunc(q.Concurrents, func(c model.ConcurrentLimit) bool { return c.Key == key && c.Count <= most })
	}
	rates := func(all []model.RateLimit, by []model.RateLimit) bool {
		for i := range all {
			if !slices.ContainsFunc(by, func(r model.RateLimit) bool {
				return r.String() == all[i].String() && slices.Equal(r.Exempt, all[i].Exempt)
			}) {
				return false
			}
		}
		return true
	}
	address := model.LimitKey{Kind: model.KeyAddress, IPv6Prefix: model.DefaultIPv6Prefix}
	if !within(p.Limits.Connections, 3*time.Second) || !within(p.Limits.Requests, 10*time.Second) || !concurrent(p.Limits.Concurrent, address) {
		return false
	}
	for _, c := range p.Concurrents {
		if !concurrent(c.Count, c.Key) {
			return false
		}
	}
	return rates(p.Rates, q.Rates) && rates(p.Identified, q.Identified) && rates(p.Shared, q.Shared)
}

func byAddress(k model.LimitKey) bool {
	return k.Kind == model.KeyAddress && k.IPv6Prefix == model.DefaultIPv6Prefix
}

// sameHeaders reports whether two lists change the same in the same way.
func sameHeaders(was, is []model.HeaderAction) bool {
	texts := func(all []model.HeaderAction) []string {
		out := make([]string, 0, len(all))
		for _, a := range all {
			out = append(out, fmt.Sprint(strings.ToLower(a.Name), a.Delete, a.Add, a.Value))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(texts(was), texts(is))
}

func isHSTS(a model.HeaderAction) bool {
	return strings.EqualFold(a.Name, "Strict-Transport-Security") && !a.Delete
}

// sameAuthority reports whether pods are verified by the same authorities.
func sameAuthority(was, is *model.Claim) bool {
	return is.Backend.CA != nil && strings.TrimSpace(is.Backend.CA.PEM) == strings.TrimSpace(was.Backend.CA.PEM)
}

// notCompared are the fields of a policy that weakness looks at, and those that a claim in a
// scope has in another form.
var notCompared = []string{
	"Forwarded", "Limits", "Rates", "Identified", "IdentifiedConcurrents", "Concurrents", "Shared", "SharedIdentified", "Counted", "HSTS", "Restricted", "Allow", "Deny", "Sizes", "Agent", "APIKeys", "Certificate",
	"RequestHeaders", "ResponseHeaders", "BranchHeaders", "BranchRewrites", "Canary", "ClientCertificate", "Firewall",
}

// named are the fields that name the object that they are of: there it counts whether there
// is one.
var named = []string{"Mirror", "Pages"}

// closedBecause is the first finding that says why the paths of a route are closed.
func closedBecause(all []api.Finding) string {
	for _, f := range all {
		if f.Reason == api.ReasonPolicyClosed {
			return f.Message
		}
	}
	return "its policies cannot be applied"
}

// otherwise lists the fields of a policy that say something else. Calls of gRPC may be silent
// for longer than other answers.
func otherwise(p, q *model.Policy, calls bool) (out []string) {
	was, is := reflect.ValueOf(*p), reflect.ValueOf(*q)
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		same := reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface())
		if slices.Contains(named, name) {
			same = was.Field(i).IsNil() == is.Field(i).IsNil()
		}
		if calls && name == "Timeouts" {
			same = p.Timeouts.Server == q.Timeouts.Server
		}
		if same || slices.Contains(notCompared, name) {
			continue
		}
		out = append(out, "the router does not do the same with "+fieldInWords(name))
	}
	return out
}

// fieldInWords names a field of a policy as users know it.
func fieldInWords(field string) string {
	var b strings.Builder
	for i, r := range field {
		if r >= 'A' && r <= 'Z' && i > 0 && field[i-1] >= 'a' && field[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	if text := b.String(); text != strings.ToUpper(text) {
		return strings.ToLower(text)
	}
	return b.String()
}
