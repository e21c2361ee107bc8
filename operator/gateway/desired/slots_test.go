package desired_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

func now() time.Time { return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) }

func named(namespace, name, uid string) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), Generation: 3}}
}

func slot(namespace, name, uid string, port int32, freed time.Time) gateway.Slot {
	return gateway.Slot{Namespace: namespace, Name: name, UID: types.UID(uid), Port: port, Freed: freed}
}

// movedSlot is one that a port has moved from.
func movedSlot(namespace, name, uid string, port int32, at time.Time) gateway.Slot {
	s := slot(namespace, name, uid, port, at)
	s.Moved = true
	return s
}

func TestAssign(t *testing.T) {
	t.Parallel()
	none, recently, long := time.Time{}, now().Add(-59*time.Second), now().Add(-60*time.Second)
	web := slot("shop", "web", "1", 80, none)
	for _, test := range []struct {
		name    string
		before  gateway.Table
		wanted  map[gateway.Port]gateway.Block
		after   gateway.Table
		changed bool
	}{
		{"first", nil, map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP, {Number: 443}: gateway.HTTPS}, gateway.Table{20000: web, 21000: slot("shop", "web", "1", 443, none)}, true},
		{"kept", gateway.Table{20007: web}, map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, gateway.Table{20007: web}, false},
		{
			"lowest free",
			gateway.Table{20000: slot("blog", "b", "2", 80, none), 20002: slot("blog", "b", "2", 81, none)},
			map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP},
			gateway.Table{20000: slot("blog", "b", "2", 80, none), 20001: web, 20002: slot("blog", "b", "2", 81, none)},
			true,
		},
		{
			"another's slot rests",
			gateway.Table{20000: slot("blog", "b", "2", 80, recently)},
			map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP},
			gateway.Table{20000: slot("blog", "b", "2", 80, recently), 20001: web},
			true,
		},
		{"another's slot has rested", gateway.Table{20000: slot("blog", "b", "2", 80, long)}, map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, gateway.Table{20000: web}, true},
		{"its own slot comes back", gateway.Table{20009: slot("shop", "web", "1", 80, recently)}, map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, gateway.Table{20009: web}, true},
		{
			"listeners of TLS come to a port of HTTPS",
			gateway.Table{21003: slot("shop", "web", "1", 443, none)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.TLS},
			gateway.Table{21003: movedSlot("shop", "web", "1", 443, now()), 22000: slot("shop", "web", "1", 443, none)},
			true,
		},
		{
			"the former slot of a port that moved lingers",
			gateway.Table{21003: movedSlot("shop", "web", "1", 443, now().Add(-gateway.Linger+time.Second)), 22000: slot("shop", "web", "1", 443, none)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.TLS},
			gateway.Table{21003: movedSlot("shop", "web", "1", 443, now().Add(-gateway.Linger+time.Second)), 22000: slot("shop", "web", "1", 443, none)},
			false,
		},
		{
			"and then rests",
			gateway.Table{21003: movedSlot("shop", "web", "1", 443, now().Add(-gateway.Linger)), 22000: slot("shop", "web", "1", 443, none)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.TLS},
			gateway.Table{21003: slot("shop", "web", "1", 443, now()), 22000: slot("shop", "web", "1", 443, none)},
			true,
		},
		{
			"it rests if the port has gone",
			gateway.Table{21003: movedSlot("shop", "web", "1", 443, recently), 22000: slot("shop", "web", "1", 443, none)},
			nil,
			gateway.Table{21003: slot("shop", "web", "1", 443, now()), 22000: slot("shop", "web", "1", 443, now())},
			true,
		},
		{
			"no other Gateway gets it",
			gateway.Table{21000: movedSlot("blog", "b", "2", 443, long)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.HTTPS},
			gateway.Table{21000: movedSlot("blog", "b", "2", 443, long), 21001: slot("shop", "web", "1", 443, none)},
			true,
		},
		{
			"a port that stops to ask clients leaves its slot at once",
			gateway.Table{21900: slot("shop", "web", "1", 443, none)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.HTTPS},
			gateway.Table{21000: slot("shop", "web", "1", 443, none), 21900: slot("shop", "web", "1", 443, now())},
			true,
		},
		{
			"listeners of TLS have gone from the port",
			gateway.Table{22000: slot("shop", "web", "1", 443, none)},
			map[gateway.Port]gateway.Block{{Number: 443}: gateway.HTTPS},
			gateway.Table{22000: slot("shop", "web", "1", 443, none)},
			false,
		},
		{"not wanted any more", gateway.Table{20000: web}, nil, gateway.Table{20000: slot("shop", "web", "1", 80, now())}, true},
		{
			"from HTTP to HTTPS",
			gateway.Table{20000: web},
			map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTPS},
			gateway.Table{20000: slot("shop", "web", "1", 80, now()), 21000: web},
			true,
		},
		{
			"made again under its name",
			gateway.Table{20000: slot("shop", "web", "0", 80, none)},
			map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP},
			gateway.Table{20000: slot("shop", "web", "0", 80, now()), 20001: web},
			true,
		},
		{"twice by hand", gateway.Table{20000: web, 20001: web}, map[gateway.Port]gateway.Block{{Number: 80}: gateway.HTTP}, gateway.Table{20000: web, 20001: slot("shop", "web", "1", 80, now())}, true},
		{"nothing to do", nil, nil, gateway.Table{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			after, changed, lacking := desired.Assign(test.before, named("shop", "web", "1"), test.wanted, nil, now())
			if diff := cmp.Diff(test.after, after); diff != "" || changed != test.changed || len(lacking) > 0 {
				t.Errorf("changed %t, lacking %v, table (-want +got):\n%s", changed, lacking, diff)
			}
		})
	}
}

// TestBounds: one namespace has at most a quarter of a block, what it frees counts, and it
// may use its own again at once; a block that is full has no slot for anyone.
func TestBounds(t *testing.T) {
	t.Parallel()
	wanted := map[gateway.Port]gateway.Block{{Number: 443}: gateway.HTTPS}
	table, share := gateway.Table{}, int32(gateway.Table{}.PerNamespace(gateway.HTTPS))
	for n := range share {
		table[gateway.HTTPS.First+n] = slot("shop", fmt.Sprint(n), fmt.Sprint(n), 443, time.Time{})
	}
	if _, changed, lacking := desired.Assign(table, named("shop", "web", "x"), wanted, nil, now()); changed || !cmp.Equal(lacking, []gateway.Port{{Number: 443}}) {
		t.Errorf("a namespace gets more than a quarter: changed %t, lacking %v", changed, lacking)
	}
	after, _, lacking := desired.Assign(table, named("blog", "web", "x"), wanted, nil, now())
	if got := after.Slots(named("blog", "web", "x")); got[gateway.Port{Number: 443}] != gateway.HTTPS.First+share || len(lacking) > 0 {
		t.Errorf("another namespace: %v, lacking %v", got, lacking)
	}
	rests := table[21003]
	rests.Freed = now()
	table[21003] = rests
	after, _, lacking = desired.Assign(table, named("shop", "web", "x"), wanted, nil, now())
	if got := after.Slots(named("shop", "web", "x")); got[gateway.Port{Number: 443}] != 21003 || len(lacking) > 0 {
		t.Errorf("its own that rests: %v, lacking %v", got, lacking)
	}
	for n := range gateway.HTTPS.Count {
		table[gateway.HTTPS.First+n] = slot(fmt.Sprint(n%5), "a", "a", 443, time.Time{})
	}
	after, _, lacking = desired.Assign(table, named("blog", "web", "x"), wanted, nil, now())
	if got := after.Slots(named("blog", "web", "x")); got[gateway.Port{Number: 443}] != gateway.HTTPS.First+gateway.HTTPS.Count || len(lacking) > 0 {
		t.Errorf("where all are taken: %v, lacking %v", got, lacking)
	}
	for n := range gateway.HTTPS.Count {
		table[gateway.HTTPS.First+n] = slot(fmt.Sprint(n%4), "a", "a", 443, time.Time{})
	}
	if _, changed, lacking := desired.Assign(table, named("1", "web", "x"), wanted, nil, now()); changed || len(lacking) != 1 {
		t.Errorf("a namespace that has its share has the block grow: changed %t, lacking %v", changed, lacking)
	}
	for n := range gateway.HTTPS.Most {
		table[gateway.HTTPS.First+n] = slot(fmt.Sprint(n), "a", "a", 443, time.Time{})
	}
	if _, changed, lacking := desired.Assign(table, named("blog", "web", "x"), wanted, nil, now()); changed || len(lacking) != 1 {
		t.Errorf("a full block: changed %t, lacking %v", changed, lacking)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	before := gateway.Table{20000: slot("shop", "web", "1", 80, time.Time{}), 20001: slot("blog", "b", "2", 80, time.Time{}), 20002: slot("shop", "web", "1", 81, now().Add(-time.Second))}
	exists := func(s gateway.Slot) bool { return s.Namespace != "shop" }
	after, changed := desired.Release(before, exists, now())
	want := gateway.Table{20000: slot("shop", "web", "1", 80, now()), 20001: before[20001], 20002: before[20002]}
	if diff := cmp.Diff(want, after); diff != "" || !changed {
		t.Errorf("changed %t (-want +got):\n%s", changed, diff)
	}
	if _, changed := desired.Release(after, exists, now()); changed {
		t.Error("a second time changes something")
	}
	affected := desired.Affected(before, after)
	if len(affected) != 1 || affected[0].Namespace != "shop" {
		t.Errorf("affected %v", affected)
	}
}

// TestNoWiderSlot: a port of HTTPS keeps its slot if none is left that would serve TLS, too.
func TestNoWiderSlot(t *testing.T) {
	t.Parallel()
	table := gateway.Table{21000: slot("shop", "web", "1", 443, time.Time{})}
	for n := range gateway.TLS.Most {
		table[gateway.TLS.First+n] = slot(fmt.Sprint(n), "a", "a", 443, time.Time{})
	}
	after, changed, lacking := desired.Assign(table, named("shop", "web", "1"), map[gateway.Port]gateway.Block{{Number: 443}: gateway.TLS}, nil, now())
	if changed || len(lacking) != 1 || after[21000] != table[21000] {
		t.Errorf("changed %v, lacking %v, %+v", changed, lacking, after[21000])
	}
}

func TestWantedSlotsOfSharedPort(t *testing.T) {
	t.Parallel()
	j := &gateway.Joint{Own: []gateway.ListenerVerdict{
		{Port: 443, Block: gateway.HTTPS, Reason: gatewayv1.ListenerReasonAccepted},
		{Port: 443, Block: gateway.TLS, Reason: gatewayv1.ListenerReasonAccepted},
		{Port: 443, Block: gateway.HTTPS, Reason: gatewayv1.ListenerReasonAccepted},
		{Port: 444, Block: gateway.HTTPS, Reason: gatewayv1.ListenerReasonAccepted},
	}}
	wanted, tenants := desired.WantedSlots(j)
	if wanted[gateway.Port{Number: 443}] != gateway.TLS || wanted[gateway.Port{Number: 444}] != gateway.HTTPS || len(tenants) > 0 {
		t.Errorf("%v, %v", wanted, tenants)
	}
}
