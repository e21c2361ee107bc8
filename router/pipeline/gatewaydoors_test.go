package pipeline_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
)

// neighbour are the objects of a namespace that has nothing to do with the others: each kind
// once, all of it served.
const neighbour = `
{"kind":"Gateway","name":"x","spec":{"gatewayClassName":"f","allowedListeners":{"namespaces":{"from":"Same"}},"listeners":[
 {"name":"a","port":80,"protocol":"HTTP"},{"name":"b","port":443,"protocol":"HTTPS","hostname":"*.example.com","tls":{"certificateRefs":[{"name":"a"}]}},
 {"name":"c","port":8443,"protocol":"TLS","tls":{"mode":"Passthrough"}},{"name":"d","port":25,"protocol":"TCP"}]}}
{"kind":"ListenerSet","name":"x","spec":{"parentRef":{"name":"x"},"listeners":[{"name":"a","port":443,"protocol":"HTTPS","hostname":"a.b.example.com","tls":{"certificateRefs":[{"name":"a"}]}}]}}
{"kind":"HTTPRoute","name":"x","spec":{"parentRefs":[{"name":"x"},{"kind":"ListenerSet","name":"x"}],"hostnames":["a.b.example.com","*.com"],"rules":[
 {"matches":[{"path":{"value":"/a"}},{"headers":[{"name":"x","value":"y"}]}],"backendRefs":[{"name":"web","port":80,"weight":3},{"name":"secure","port":80}]},{"backendRefs":[{"name":"web","port":80}]}]}}
{"kind":"GRPCRoute","name":"x","spec":{"parentRefs":[{"name":"x"}],"hostnames":["rpc.example.com"],"rules":[{"matches":[{"method":{"service":"a.B","method":"C"}}],"backendRefs":[{"name":"web","port":80}]}]}}
{"kind":"TLSRoute","name":"x","spec":{"parentRefs":[{"name":"x"}],"hostnames":["tls.example.com"],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}
{"kind":"TCPRoute","name":"x","spec":{"parentRefs":[{"name":"x"}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}
{"kind":"BackendTLSPolicy","name":"x","spec":{"targetRefs":[{"group":"","kind":"Service","name":"secure"}],"validation":{"hostname":"s.example.com","caCertificateRefs":[{"group":"","kind":"ConfigMap","name":"ca"}]}}}
`

// served is what a router makes of the neighbour alone.
type served struct {
	statuses map[model.Object]model.RouteStatus
	want     *plan.State
}

func newGatewayPipeline(src door.Source) *pipeline.Pipeline {
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default", HTTP2: true, GatewayPorts: true}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	return p
}

var day = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// alone is computed once.
var alone = sync.OnceValue(func() served {
	src := newGatewayTenants()
	out := served{statuses: map[model.Object]model.RouteStatus{}}
	keys := src.read([]byte(neighbour), "good", day)
	p := newGatewayPipeline(src)
	for _, key := range keys {
		out.statuses[key] = p.Status(key)
	}
	out.want = p.Want()
	return out
})

// TestNeighbour: all of the neighbour is served, or a fuzz target beside it shows little.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	s := alone()
	if len(s.statuses) != 7 {
		t.Fatalf("%d objects of the neighbour are read", len(s.statuses))
	}
	for key, st := range s.statuses {
		if problems := bad(&st); len(problems) > 0 || len(st.Findings) > 0 {
			t.Errorf("%s: %q, %v", key, problems, st.Findings)
		}
	}
	if len(s.want.Entries) < 10 || len(s.want.SlotLines) == 0 || len(s.want.CAs) == 0 {
		t.Errorf("too little is served: %d entries, %d lines of certificates, %d authorities", len(s.want.Entries), len(s.want.SlotLines), len(s.want.CAs))
	}
}

// FuzzGatewayDoors puts any objects of the Gateway API that JSON can say into a router that
// serves a neighbour. Each that is not served whole says so in its status, the neighbour stays
// as it is, and once they are gone nothing of them is left.
func FuzzGatewayDoors(f *testing.F) {
	for _, seed := range gatewayDoorSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		src := newGatewayTenants()
		good := src.read([]byte(neighbour), "good", day)
		added := src.read(text, "hostile", day.Add(-time.Hour)) // older ones win where they meet
		p := newGatewayPipeline(src)
		checkFiles(t, p.Want())
		neighbourUnchanged(t, p, good)
		for _, key := range added {
			if src.Object(key) != nil {
				says(t, src, p, key)
			}
		}
		src.remove("hostile")
		gone := model.Objects{}
		for _, key := range added {
			gone[key] = struct{}{}
			gone[gateway.SetsOf(key)] = struct{}{}
			gone[model.Object{Kind: door.KindGrants, Namespace: key.Namespace}] = struct{}{}
			gone[gateway.TLSPoliciesOf(key.Namespace)] = struct{}{}
		}
		gone[model.Object{Kind: door.KindSlots}] = struct{}{}
		p.Update(door.Changes{Objects: gone})
		neighbourUnchanged(t, p, good)
		if !reflect.DeepEqual(p.Want(), alone().want) {
			t.Errorf("something is left: %s", difference(p.Want(), alone().want))
		}
	})
}

// neighbourUnchanged compares what is said of the neighbour, and what leads to it.
func neighbourUnchanged(t *testing.T, p *pipeline.Pipeline, good []model.Object) {
	t.Helper()
	before := alone()
	for _, key := range good {
		if now := p.Status(key); !reflect.DeepEqual(now, before.statuses[key]) {
			t.Errorf("%s: %+v instead of %+v", key, now, before.statuses[key])
		}
	}
	if d := difference(before.want, p.Want()); d != "" {
		t.Errorf("the neighbour lost %s", d)
	}
}

// difference returns what one state has and another one lacks or has otherwise.
func difference(of, from *plan.State) string {
	return lacks("entry", of.Entries, from.Entries) + lacks("backend", of.Backends, from.Backends) + lacks("certificate", of.Certs, from.Certs) +
		lacks("authority", of.CAs, from.CAs) + lacks("line", of.Lines, from.Lines) + lacks("line of a slot", of.SlotLines, from.SlotLines)
}

func lacks[K comparable, V any](what string, of, from map[K]V) string {
	for k, v := range of {
		if other, has := from[k]; !has || !reflect.DeepEqual(v, other) {
			return fmt.Sprintf("%s %v; ", what, k)
		}
	}
	return ""
}

// bad returns the conditions of a status that say that something is wrong.
func bad(st *model.RouteStatus) (all []string) {
	add := func(conditions []model.StatusCondition) {
		for _, c := range conditions {
			if c.True == (c.Type == string(gatewayv1.ListenerConditionConflicted) || c.Type == "PartiallyInvalid") {
				all = append(all, c.Type+" "+c.Reason+": "+c.Message)
			}
		}
	}
	add(st.Conditions)
	for _, p := range st.Parents {
		add(p.Conditions)
	}
	for _, l := range st.Listeners {
		add(l.Conditions)
	}
	return all
}

// says looks at what is said of an object: all that has to be, with reasons, and nothing that
// is not served without a word.
func says(t *testing.T, src *gatewayTenants, p *pipeline.Pipeline, key model.Object) {
	t.Helper()
	known, pending := p.Known(key)
	if !known || pending {
		t.Fatalf("%s: known %v, pending %v", key, known, pending)
	}
	st := p.Status(key)
	problems := bad(&st)
	for _, problem := range problems {
		if kind, message, _ := strings.Cut(problem, ": "); message == "" || strings.HasSuffix(kind, " ") {
			t.Errorf("%s: %q has no reason or message", key, problem)
		}
	}
	for _, f := range st.Findings {
		if f.Reason == "" || f.Message == "" || f.Effect == "" || f.Object != doorOf(key).Ref(key) {
			t.Errorf("%s: finding %+v", key, f)
		}
		if f.Severity == api.SeverityError && len(problems) == 0 && !saysClosed(&st, f) {
			t.Errorf("%s: no condition says %+v", key, f)
		}
	}
	types := func(what string, conditions []model.StatusCondition, want ...gatewayv1.ListenerConditionType) {
		for _, w := range want {
			if !slices.ContainsFunc(conditions, func(c model.StatusCondition) bool { return c.Type == string(w) }) {
				t.Errorf("%s: %s has no condition %s", key, what, w)
			}
		}
	}
	for _, l := range st.Listeners {
		types("listener "+l.Name, l.Conditions, "Accepted", "Conflicted", "ResolvedRefs", "Programmed")
	}
	for _, parent := range st.Parents {
		types("a parent", parent.Conditions, "Accepted", "ResolvedRefs")
	}
	switch o := src.Object(key).(type) {
	case *gatewayv1.Gateway:
		saysListeners(t, p, key, &st, len(o.Spec.Listeners))
	case *gatewayv1.ListenerSet:
		types("the set", st.Conditions, "Accepted", "Programmed")
		if len(st.Listeners) > 0 || len(problems) == 0 {
			saysListeners(t, p, key, &st, len(o.Spec.Listeners))
		}
	case *gatewayv1.BackendTLSPolicy:
		types("the policy", st.Conditions, "Accepted", "ResolvedRefs")
	default:
		saysRoute(t, src, p, key, &st)
		keepsOut(t, src, p, key)
	}
}

// saysClosed reports whether a finding that paths are closed is where it belongs: with a Gateway
// or ListenerSet, of which no condition is about its annotations, or in Accepted of a route.
func saysClosed(st *model.RouteStatus, f api.Finding) bool {
	if f.Reason != api.ReasonPolicyClosed || st.Object.Kind == gateway.KindGateway || st.Object.Kind == gateway.KindListenerSet {
		return f.Reason == api.ReasonPolicyClosed
	}
	return len(st.Parents) == 0 || !slices.ContainsFunc(st.Parents, func(p model.ParentStatus) bool { return p.Conditions[0].Message == "" })
}

// keepsOut looks at what is served of a route: where it, or what it is attached to, has an
// annotation of Routes that protects, nothing gets through.
func keepsOut(t *testing.T, src *gatewayTenants, p *pipeline.Pipeline, key model.Object) {
	t.Helper()
	shut := func(o model.Object) bool {
		v := src.Object(o)
		if v == nil {
			return false
		}
		closings, _ := policy.Misplaced(o, v.GetAnnotations())
		return len(closings) > 0
	}
	closed := map[model.ScopeID]bool{}
	for _, parent := range src.parents(key) {
		above := shut(key) || shut(parent)
		if s, ok := src.Object(parent).(*gatewayv1.ListenerSet); ok {
			of, _ := gateway.SetGateway(s)
			above = above || shut(of)
		}
		for _, l := range p.Status(parent).Listeners {
			closed[l.Scope] = above
		}
	}
	_, served := p.Claims(key)
	for _, c := range served {
		if scope, _ := model.SplitHost(c.Host); closed[scope] && !c.Closed && c.Answer == 0 {
			t.Errorf("%s: requests for %q get through in spite of an annotation that protects", key, c.Host)
		}
	}
}

func doorOf(key model.Object) door.Door {
	all := doors.All()
	return all[slices.IndexFunc(all, func(d door.Door) bool { return d.Kind() == key.Kind })]
}

// saysListeners: each listener has a status, and one that is programmed is one of HAProxy's.
func saysListeners(t *testing.T, p *pipeline.Pipeline, key model.Object, st *model.RouteStatus, count int) {
	t.Helper()
	if len(st.Listeners) != count {
		t.Errorf("%s: %d of %d listeners have a status", key, len(st.Listeners), count)
	}
	for _, l := range st.Listeners {
		programmed := slices.ContainsFunc(l.Conditions, func(c model.StatusCondition) bool { return c.Type == "Programmed" && c.True })
		if programmed != leads(p.Want(), l.Scope) {
			t.Errorf("%s: listener %s is programmed: %v, HAProxy has it: %v", key, l.Name, programmed, !programmed)
		}
	}
}

// leads reports whether something leads to a scope from a slot.
func leads(want *plan.State, scope model.ScopeID) bool {
	for e, v := range want.Entries {
		if (e.Map == plan.MapListeners || e.Map == plan.MapSuffixes) && strings.Contains(v, string(scope)) {
			return true
		}
	}
	return false
}

// saysRoute: a route has a status for each parentRef, and where it is accepted and attached to
// a listener each of its matches is a claim, or its status says that there is less.
func saysRoute(t *testing.T, src *gatewayTenants, p *pipeline.Pipeline, key model.Object, st *model.RouteStatus) {
	t.Helper()
	parents := src.parents(key)
	if len(st.Parents) != len(parents) {
		t.Errorf("%s: a status for %d of %d parents", key, len(st.Parents), len(parents))
		return
	}
	claims := map[model.ScopeID]int{}
	for _, c := range doorOf(key).Ingest(src.Object(key), src, p.Settings(), door.Past{}).Claims {
		scope, _ := model.SplitHost(c.Host)
		claims[scope]++
	}
	for i, parent := range st.Parents {
		accepted := slices.ContainsFunc(parent.Conditions, func(c model.StatusCondition) bool { return c.Type == "Accepted" && c.True })
		if accepted != (len(parent.Listeners) > 0) {
			t.Errorf("%s: accepted: %v, listeners %q", key, accepted, parent.Listeners)
		}
		for _, l := range p.Status(parents[i]).Listeners {
			if slices.Contains(parent.Listeners, l.Name) && leads(p.Want(), l.Scope) && claims[l.Scope] < matchesOf(src.Object(key)) {
				t.Errorf("%s: %d claims at listener %s for %d matches, and no word of it: %+v", key, claims[l.Scope], l.Name, matchesOf(src.Object(key)), st)
			}
		}
	}
}

// matchesOf counts the matches of a route, of which a rule without any has one.
func matchesOf(o door.Version) (n int) {
	switch r := o.(type) {
	case *gatewayv1.HTTPRoute:
		for i := range r.Spec.Rules {
			n += max(1, len(r.Spec.Rules[i].Matches))
		}
	case *gatewayv1.GRPCRoute:
		for i := range r.Spec.Rules {
			n += max(1, len(r.Spec.Rules[i].Matches))
		}
	case *gatewayv1.TLSRoute:
		n = len(r.Spec.Rules)
	case *gatewayv1.TCPRoute:
		n = len(r.Spec.Rules)
	}
	return n
}

// gatewayDoorSeeds are the neighbour's objects once more, each with something wrong, and with
// texts that must not come through.
func gatewayDoorSeeds() (seeds []string) {
	const gw = `{"kind":"Gateway","name":"x","spec":{"gatewayClassName":"f","allowedListeners":{"namespaces":{"from":"All"}},"listeners":[{"name":"a","port":80,"protocol":"HTTP","allowedRoutes":{"namespaces":{"from":"All"}}},{"name":"b","port":443,"protocol":"HTTPS","hostname":"*.example.com","tls":{"certificateRefs":[{"name":"a"}]}}]}}`
	seeds = append(seeds, neighbour, gw, `{"kind":"HTTPRoute","name":"x","spec":{"parentRefs":[{"name":"x","namespace":"good"}],"rules":[{}]}}`,
		`{"kind":"ListenerSet","name":"y","spec":{"parentRef":{"name":"x","namespace":"good"},"listeners":[{"name":"a","port":80,"protocol":"HTTP"}]}}`,
		gw+`{"kind":"ListenerSet","name":"y","other":true,"spec":{"parentRef":{"name":"x","namespace":"hostile"},"listeners":[{"name":"a","port":80,"protocol":"HTTP"},{"name":"b","port":81,"protocol":"UDP"}]}}`,
		gw+`{"kind":"HTTPRoute","name":"y","spec":{"parentRefs":[{"name":"x"},{"name":"x","sectionName":"no"},{"name":"no"}],"hostnames":["A","a.example.com"],"rules":[{"backendRefs":[{"name":"none","port":80},{"name":"web","namespace":"good","port":80},{"name":"web"}]}]}}`,
		gw+`{"kind":"HTTPRoute","name":"y","spec":{"parentRefs":[{"name":"x"}],"rules":[{"filters":[{"type":"ExtensionRef"}]},{"filters":[{"type":"URLRewrite"}],"timeouts":{"request":"x"},"retry":{"attempts":-1,"backoff":"1s"},"sessionPersistence":{}}]}}`,
		gw+`{"kind":"BackendTLSPolicy","name":"x","spec":{"targetRefs":[{"group":"","kind":"Service","name":"web"}],"validation":{"hostname":"x","caCertificateRefs":[{"group":"","kind":"ConfigMap","name":"nonsense"}]}}}{"kind":"HTTPRoute","name":"y","spec":{"parentRefs":[{"name":"x"}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}`,
		gw+`{"kind":"ReferenceGrant","name":"x","other":true,"spec":{"from":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","namespace":"hostile"}],"to":[{"group":"","kind":"Service"}]}}{"kind":"HTTPRoute","name":"y","spec":{"parentRefs":[{"name":"x"}],"rules":[{"backendRefs":[{"name":"web","namespace":"hostile-other","port":80}]}]}}`,
	)
	const all = `{"kind":"HTTPRoute","name":"y","annotations":{ROUTE},"spec":{"parentRefs":[{"name":"x"},{"kind":"ListenerSet","name":"y"}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}` +
		`{"kind":"ListenerSet","name":"y","annotations":{SET},"spec":{"parentRef":{"name":"x"},"listeners":[{"name":"a","port":81,"protocol":"HTTP"},{"name":"t","port":82,"protocol":"TCP"}]}}` +
		`{"kind":"GRPCRoute","name":"z","annotations":{ROUTE},"spec":{"parentRefs":[{"kind":"ListenerSet","name":"y"}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}` +
		`{"kind":"TCPRoute","name":"z","annotations":{ROUTE},"spec":{"parentRefs":[{"kind":"ListenerSet","name":"y"}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}}`
	for _, annotation := range []string{
		`"fairlead.dev/allow":"198.18.0.0/16"`, `"fairlead.dev/alow":"x"`, `"fairlead.dev/policy":"p"`, `"fairlead.dev/colour":"blue"`, `"example.com/allow":"x"`,
		`"haproxy.router.openshift.io/ip_allowlist":"\n"`, `"fairlead.dev/\u0000|~":"%FL%"`, `"fairlead.dev/limit":"1/s"`, `"fairlead.dev/basic-secret":"a","router.openshift.io/cookie_name":"b"`,
	} {
		for _, at := range []string{"ROUTE", "SET", "GATEWAY"} {
			seed := strings.Replace(gw, `"name":"x",`, `"name":"x","annotations":{GATEWAY},`, 1) + all
			seeds = append(seeds, strings.NewReplacer(at, annotation, "ROUTE", "", "SET", "", "GATEWAY", "").Replace(seed))
		}
	}
	for _, s := range []string{`\n`, `\t`, `\r`, `\u0000`, `\f`, `|`, `~`, `%FL%`, `*`, ` `, ``} {
		for _, of := range []string{"example", "/a", "web", "a.B", "HTTP", "secure", `"y"`} {
			seeds = append(seeds, strings.ReplaceAll(neighbour, of, strings.ReplaceAll(of, "a", s)+s))
		}
	}
	return seeds
}
