package desired_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// withSets is Gateway shop/web with two ListenerSets of namespaces shop and team.
func withSets(t *testing.T) (*gatewayv1.Gateway, *gateway.Joint) {
	t.Helper()
	g := named("shop", "web", "1")
	if err := yaml.Unmarshal([]byte("allowedListeners: {namespaces: {from: All}}\nlisteners: [{name: a, port: 80, protocol: HTTP}]"), &g.Spec); err != nil {
		t.Fatal(err)
	}
	set := func(namespace, listeners string) *gatewayv1.ListenerSet {
		s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
		if err := yaml.Unmarshal([]byte("parentRef: {name: web, namespace: shop}\nlisteners: "+listeners), &s.Spec); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const refs = "tls: {certificateRefs: [{name: c}, {name: c}, {name: far, namespace: keys}, {name: no, namespace: other}]}"
	return g, gateway.Join(g, []*gatewayv1.ListenerSet{
		set("shop", "[{name: a, port: 81, protocol: HTTP}, {name: b, port: 90, protocol: ODD}]"),
		set("team", "[{name: a, port: 80, protocol: HTTP, hostname: a.test}, {name: b, port: 81, protocol: HTTP, hostname: b.test}, {name: c, port: 443, protocol: HTTPS, "+refs+"}]"),
	}, nil)
}

// TestSlotsOfSets: a port that only ListenerSets ask for is of the share of their namespace.
func TestSlotsOfSets(t *testing.T) {
	t.Parallel()
	g, joint := withSets(t)
	wanted, tenants := desired.WantedSlots(joint)
	if diff := cmp.Diff(map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP, {Number: 81}: gateway.HTTP, {Number: 443}: gateway.HTTPS}, wanted); diff != "" {
		t.Error(diff)
	}
	table, _, lacking := desired.Assign(nil, g, wanted, tenants, now())
	secure := slot("shop", "web", "1", 443, time.Time{})
	secure.For = "team"
	want := gateway.Table{20000: slot("shop", "web", "1", 80, time.Time{}), 20001: slot("shop", "web", "1", 81, time.Time{}), 21000: secure}
	if diff := cmp.Diff(want, table); diff != "" || len(lacking) > 0 {
		t.Errorf("%v lack a slot: %s", lacking, diff)
	}
	read, problems := gateway.ReadTable(table.Data())
	if diff := cmp.Diff(table, read); diff != "" || len(problems) > 0 {
		t.Errorf("read again: %v %s", problems, diff)
	}
	after, changed, _ := desired.Assign(table, g, wanted, nil, now()) // the Gateway asks for it, too
	if !changed || after[21000].For != "" {
		t.Errorf("the slot is still of the share of %q", after[21000].For)
	}
}

// TestSlotsOfHostileSets: a tenant's ListenerSets use up its own share at Gateways of others,
// not theirs.
func TestSlotsOfHostileSets(t *testing.T) {
	t.Parallel()
	g := named("shop", "web", "1")
	wanted, tenants := map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, map[gateway.Port]string{}
	most := gateway.Table{}.PerNamespace(gateway.HTTP)
	for port := range int32(most + 5) {
		p := gateway.HTTP.Port(1000 + port)
		wanted[p], tenants[p] = gateway.HTTP, "team"
	}
	table, _, lacking := desired.Assign(nil, g, wanted, tenants, now())
	if len(table) != most+1 || len(lacking) != 5 || lacking[0] != gateway.HTTP.Port(int32(1000+most)) {
		t.Errorf("%d slots, %v lack one", len(table), lacking)
	}
	own := map[gateway.Port]gateway.Block{}
	for port := range int32(most) {
		own[gateway.HTTP.Port(1+port)] = gateway.HTTP
	}
	if _, _, lacking := desired.Assign(table, named("shop", "next", "2"), own, nil, now()); len(lacking) != 1 { // one is of web's own
		t.Errorf("the Gateway's namespace lacks %v", lacking)
	}
	if _, _, lacking := desired.Assign(table, named("team", "own", "3"), map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, nil, now()); len(lacking) != 1 {
		t.Error("the tenant has a slot more than its share")
	}
}

// TestAccessOfSets: routers may read what ListenerSets name in their namespaces, and of others
// what is granted to ListenerSets, by Roles of their own.
func TestAccessOfSets(t *testing.T) {
	t.Parallel()
	in := desired.Input{}
	in.Gateway, in.Joint = withSets(t)
	grant := func(kind string) []*gatewayv1.ReferenceGrant {
		return []*gatewayv1.ReferenceGrant{{Spec: gatewayv1.ReferenceGrantSpec{
			From: []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: gatewayv1.Kind(kind), Namespace: "team"}},
			To:   []gatewayv1.ReferenceGrantTo{{Kind: "Secret"}},
		}}}
	}
	in.Grants = func(namespace string) []*gatewayv1.ReferenceGrant {
		return map[string][]*gatewayv1.ReferenceGrant{"keys": grant("ListenerSet"), "other": grant("Gateway")}[namespace]
	}
	var got []string
	for _, a := range in.Access() {
		got = append(got, a.Role.Namespace+" "+strings.Join(a.Role.Rules[0].ResourceNames, ","))
		if !strings.HasPrefix(a.Role.Name, "router-reads-certificates-for-listenersets-") || a.Binding.RoleRef.Name != a.Role.Name || desired.AccessOwner(a.Role) != "shop/web" {
			t.Errorf("role %+v", a.Role)
		}
	}
	if diff := cmp.Diff([]string{"keys far", "team c"}, got); diff != "" {
		t.Error(diff)
	}
}
