package relay

import (
	"net/netip"
	"testing"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

func pods(texts ...string) (all []netip.AddrPort) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddrPort(text))
	}
	return all
}

// TestShares: sessions are shared out by weight, of a Service evenly, and what cannot be used
// or has no pod has its share, too.
func TestShares(t *testing.T) {
	t.Parallel()
	r := routesOf([]snapshot.Relay{{Port: 24000, Unusable: 10, Targets: []snapshot.RelayTarget{
		{Weight: 50, Endpoints: pods("10.0.0.1:53", "10.0.0.2:53")}, {Weight: 20, Endpoints: pods("10.0.0.3:53")}, {Weight: 20},
	}}}, nil)[24000]
	const sessions = 1000
	got := map[string]int{}
	for range sessions {
		pod, ok := r.choose()
		if !ok {
			got["none"]++
			continue
		}
		got[pod.String()]++
	}
	for pod, want := range map[string]int{"10.0.0.1:53": 250, "10.0.0.2:53": 250, "10.0.0.3:53": 200, "none": 300} {
		if off := got[pod] - want; off < -10 || off > 10 {
			t.Errorf("%s has %d sessions of %d, want %d", pod, got[pod], sessions, want)
		}
	}
	for _, empty := range []snapshot.Relay{{Port: 1}, {Port: 1, Unusable: 3}, {Port: 1, Targets: []snapshot.RelayTarget{{Weight: 1}}}} {
		if pod, ok := routesOf([]snapshot.Relay{empty}, nil)[1].choose(); ok {
			t.Errorf("%+v leads to %s", empty, pod)
		}
	}
}

// TestTurns: a change of a route does not begin its shares again, so that many changes leave
// them exact.
func TestTurns(t *testing.T) {
	t.Parallel()
	all := []snapshot.Relay{{Port: 1, Targets: []snapshot.RelayTarget{{Weight: 3, Endpoints: pods("10.0.0.1:1")}, {Weight: 1, Endpoints: pods("10.0.0.2:1")}}}}
	routes := routesOf(all, nil)
	first := 0
	for range 400 {
		if pod, _ := routes[1].choose(); pod == all[0].Targets[0].Endpoints[0] {
			first++
		}
		routes = routesOf(all, routes)
	}
	if first < 295 || first > 305 {
		t.Errorf("%d of 400 sessions, want 300", first)
	}
}
