package aws_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

var seeds = flag.Uint("seeds", 4, "how many random lives TestRandomFaults goes through")

// soak is a Service that changes at random while AWS fails at random.
type soak struct {
	*bed
	random *rand.Rand
	spec   *hook.Spec
}

// TestRandomFaults goes through many changes of a Service, of nodes and of the
// hook's own life, while calls fail in every way. Whenever AWS has been well for
// a moment, there is exactly what the Service asks for, tagged as ours; at the end
// nothing is left.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			b := newBed(t, fakeaws.Options{
				StaleReads: int(seed % 2 * 2),
				Delays:     fakeaws.Delays{Activate: time.Minute, Initial: 20 * time.Second, Drain: time.Minute, Interfaces: time.Minute, Release: 5 * time.Second},
			})
			for n := 4; n < 12; n++ {
				b.cloud.AddInstance(instanceID(n), "subnet-a", fmt.Sprintf("10.0.1.%d", n+20), b.nodes)
			}
			s := &soak{b, rand.New(rand.NewPCG(seed, 1)), routerSpec(4)} // the same each time
			for range 25 {
				s.change()
				s.storm()
				s.passes()
				b.cloud.Heal()
				b.ensure(s.spec)
				s.invariants()
				if t.Failed() {
					t.Fatalf("after %+v", s.spec)
				}
			}
			s.storm()
			for range 3 {
				_, _ = b.hook.Delete(t.Context(), &hook.Deletion{Ref: s.spec.Ref}) // it may fail
				b.clock.ahead += 20 * time.Second
			}
			b.cloud.Heal()
			b.delete(s.spec.Ref)
			b.checkEmpty()
		})
	}
}

// change makes the Service, or its nodes, another.
func (s *soak) change() {
	spec := routerSpec(2 + s.random.IntN(10))
	pick := func(list ...string) string { return list[s.random.IntN(len(list))] }
	if s.random.IntN(2) == 0 {
		spec.SourceRanges = []string{pick("198.18.0.0/16", "203.0.113.0/24")}
	}
	if s.random.IntN(3) == 0 {
		spec.Ports = append(spec.Ports, hook.Port{Name: "sni", Protocol: "TCP", Port: 8443, NodePort: 30844, TargetPort: 8443})
	}
	if s.random.IntN(4) == 0 {
		spec.Ports[0].NodePort = 31080
	}
	for suffix, values := range map[string][]string{
		"healthcheck-interval": {"", "30"}, "cross-zone-load-balancing-enabled": {"", "true"}, "additional-resource-tags": {"", "team=edge", "team=core,a=b"},
		"target-group-attributes": {"", "proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=false"}, "ip-address-type": {"", "dualstack"},
	} {
		if v := pick(values...); v != "" {
			spec.Annotations[prefix+suffix] = v
		}
	}
	s.spec = spec
}

// storm has some calls fail.
func (s *soak) storm() {
	effects := []fakeaws.Effect{
		fakeaws.Throttle(), fakeaws.Refuse(http.StatusInternalServerError, "InternalFailure", "oops"), fakeaws.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "later"),
		fakeaws.Reset(), fakeaws.Truncate(), fakeaws.AcceptThenFail(), fakeaws.ExpiredToken(), fakeaws.Slow(time.Millisecond),
	}
	for range 1 + s.random.IntN(3) {
		s.cloud.Script(fakeaws.Fault{
			Skip: s.random.IntN(10), Every: 2 + s.random.IntN(5), Count: 1 + s.random.IntN(6), Effect: effects[s.random.IntN(len(effects))],
		})
	}
	if s.random.IntN(4) == 0 {
		s.cloud.CutAfter(s.random.IntN(6))
	}
}

// passes are what the controller would do meanwhile, with an operator that ends
// now and then.
func (s *soak) passes() {
	for range 1 + s.random.IntN(4) {
		if s.random.IntN(3) == 0 {
			_, _ = s.hook.UpdateTargets(s.t.Context(), s.spec) // it may fail
		} else {
			_, _ = s.hook.Ensure(s.t.Context(), s.spec) // it may fail
		}
		s.clock.ahead += time.Duration(s.random.IntN(90)) * time.Second
		if s.random.IntN(4) == 0 {
			s.restart()
		}
	}
}

// invariants fails unless there is what the Service asks for.
func (s *soak) invariants() {
	s.t.Helper()
	s.checkPorts()
	owned := func(what string, tags map[string]string) {
		if tags["kubernetes.io/cluster/test"] != "owned" || tags["fairlead.dev/service-uid"] != s.spec.Ref.UID || tags["fairlead.dev/resource"] == "" {
			s.t.Errorf("%s has the tags %v", what, tags)
		}
	}
	lb := s.one()
	owned("the load balancer", lb.Tags)
	for _, g := range s.cloud.Groups() {
		owned("the target group "+g.Name, g.Tags)
	}
	groups := s.cloud.SecurityGroups()
	for _, g := range groups {
		if g.ID != s.nodes {
			owned("the security group "+g.Name, g.Tags)
		}
	}
	if len(groups) != 2 || len(s.cloud.Groups()) != len(s.spec.Ports) {
		s.t.Errorf("%d security groups, %d target groups", len(groups), len(s.cloud.Groups()))
	}
	if got := s.changes(func() { s.ensure(s.spec) }); len(got) > 0 {
		s.t.Errorf("nothing is to be done, and yet: %v", got)
	}
}

func (s *soak) checkPorts() {
	s.t.Helper()
	lb := s.one()
	if len(lb.Listeners) != len(s.spec.Ports) {
		s.t.Fatalf("listeners %+v", lb.Listeners)
	}
	for i, p := range s.spec.Ports {
		l := lb.Listeners[i]
		var want []string
		for n := range s.spec.Targets.Nodes {
			want = append(want, fmt.Sprintf("%s:%d", instanceID(n), p.NodePort))
		}
		if l.Port != int(p.Port) || l.Group.Port != int(p.NodePort) || !slices.Equal(l.Group.Targets, want) {
			s.t.Errorf("port %d: %+v, want targets %v", p.Port, l, want)
		}
		tags := s.spec.Annotations[prefix+"additional-resource-tags"]
		if (l.Tags["team"] != "") != (tags != "") {
			s.t.Errorf("port %d has the tags %v, want %s", p.Port, l.Tags, tags)
		}
	}
}
