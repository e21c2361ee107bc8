package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// slotHosts are hostnames of which some are below others.
var slotHosts = []string{"", "a.test", "b.a.test", "c.b.a.test", "*.a.test", "*.b.a.test", "*.test", "d.test"}

// randomListeners are some of an object's, of which few share a hostname with others.
func randomListeners(r *rand.Rand, o, gateway model.Object) (all []model.Listener) {
	for n := range r.IntN(4) {
		host := slotHosts[r.IntN(len(slotHosts))]
		l := model.Listener{Scope: model.NewScope(o, fmt.Sprint(n)), Slot: 1 + r.IntN(2), Port: 443, Hostname: host, Owner: o, Gateway: gateway, EndsRequests: r.IntN(2) == 0}
		for range r.IntN(3) {
			kind := []string{"RSA", "ECDSA"}[r.IntN(2)]
			names := []string{slotHosts[1+r.IntN(len(slotHosts)-1)], slotHosts[1+r.IntN(len(slotHosts)-1)]}
			l.Certificates = append(l.Certificates, model.ListenerCertificate{Certificate: &model.Certificate{ID: fmt.Sprint(kind, names), PEM: kind}, Algorithm: kind, Names: names})
		}
		if r.IntN(4) == 0 {
			l.Clients = &model.ListenerClients{CA: &model.CA{ID: "ca"}}
		}
		all = append(all, l)
	}
	return all
}

type slotted struct {
	version   door.Version
	listeners []model.Listener
}

// TestSlots: what is wanted of slots after any changes is what is wanted of the same listeners
// that came at once, and each change names what differs.
func TestSlots(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		p, now := New(nil, nil, door.Settings{}, &model.Certificate{ID: "default", PEM: "x"}), map[model.Object]slotted{}
		for range 30 {
			before := p.want.Clone()
			scope := plan.NewScope()
			for range 1 + r.IntN(3) {
				n := r.IntN(6)
				o, gateway := model.Object{Kind: door.KindListenerSet, Namespace: "ns", Name: fmt.Sprint(n)}, model.Object{Kind: door.KindGateway, Name: fmt.Sprint(n % 2)}
				if n < 2 {
					o = gateway
				}
				is := slotted{version: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(int64(r.IntN(3)), 0))}}, listeners: randomListeners(r, o, gateway)}
				p.listeners.replace(o, is.version, now[o].listeners, is.listeners)
				now[o] = is
			}
			p.settleListeners(scope)
			fresh := New(nil, nil, door.Settings{}, &model.Certificate{ID: "default", PEM: "x"})
			for _, o := range slices.SortedFunc(maps.Keys(now), func(a, b model.Object) int { return strings.Compare(a.Name+string(a.Kind), b.Name+string(b.Kind)) }) {
				fresh.listeners.replace(o, now[o].version, nil, now[o].listeners)
			}
			fresh.settleListeners(plan.NewScope())
			if diff := cmp.Diff(fresh.want, p.want); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
			unnamed(t, seed, before.Entries, p.want.Entries, scope.Entries)
			unnamed(t, seed, before.SlotLines, p.want.SlotLines, scope.SlotLines)
			unnamed(t, seed, before.Certs, p.want.Certs, scope.Certs)
		}
	}
}

// unnamed fails for what differs and is not to be compared.
func unnamed[K comparable, V comparable](t *testing.T, seed uint64, before, now map[K]V, scope map[K]struct{}) {
	t.Helper()
	for _, all := range []map[K]V{before, now} {
		for k := range all {
			was, had := before[k]
			is, has := now[k]
			if _, named := scope[k]; (had != has || was != is) && !named {
				t.Fatalf("seed %d: %v was %v and is %v, and is not named", seed, k, was, is)
			}
		}
	}
}
