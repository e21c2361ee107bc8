package aws_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// privateSubnets adds those that an internal load balancer needs.
func (b *bed) privateSubnets() {
	for n, zone := range []string{"a", "b"} {
		b.cloud.AddSubnet(fakeaws.Subnet{ID: "subnet-private-" + zone, CIDR: fmt.Sprintf("10.0.%d.0/24", n+101), Zone: "eu-central-1" + zone, Private: true})
	}
}

// checkAssociations fails if a call tried to lead a listener to a target group
// of another load balancer.
func (b *bed) checkAssociations() {
	b.t.Helper()
	for _, call := range b.cloud.Since(0) {
		if call.Code == "TargetGroupAssociationLimit" {
			b.t.Errorf("%s %v", call, call.Params)
		}
	}
}

// TestTurnedBack: what a Service asks for is taken back while its load balancer
// is being replaced, at every moment of that. Each load balancer keeps its own
// target groups, and in the end there is the one that is asked for.
func TestTurnedBack(t *testing.T) {
	for name, change := range map[string]func(*hook.Spec){
		"type":   func(s *hook.Spec) { s.Annotations[prefix+"type"] = "alb" },
		"scheme": func(s *hook.Spec) { s.Annotations[prefix+"scheme"] = "internal" },
		"name":   func(s *hook.Spec) { s.Annotations[prefix+"name"] = "edge" },
	} {
		t.Run(name, func(t *testing.T) {
			for passes := range 8 {
				b := newBed(t, fakeaws.Options{
					Delays:  fakeaws.Delays{Activate: 3 * time.Minute, Initial: 30 * time.Second, Drain: time.Minute},
					Changed: neverShut(t),
				})
				b.privateSubnets()
				b.cloud.AddCertificate("*.apps.example.com")
				one := routerSpec(4)
				one.Recreate = true
				one.Annotations["fairlead.dev/domain"], one.Annotations[prefix+"scheme"] = "apps.example.com", "internet-facing"
				two := *one
				two.Annotations = maps.Clone(one.Annotations)
				change(&two)
				b.ensure(one)
				before := b.one()
				for range passes {
					if _, err := b.hook.Ensure(t.Context(), &two); err != nil {
						t.Fatalf("after %d passes: %v", passes, err)
					}
					b.clock.ahead += 15 * time.Second
				}
				b.ensure(one)
				if lb := b.one(); lb.ARN != before.ARN || len(lb.Listeners) != 2 || len(b.cloud.Groups()) != 2 {
					t.Errorf("after %d passes: %s with %d listeners", passes, lb.Name, len(lb.Listeners))
				}
				b.ensure(&two)
				if b.one().ARN == before.ARN {
					t.Errorf("after %d passes: not replaced", passes)
				}
				b.checkAssociations()
				b.delete(one.Ref)
				b.checkEmpty()
			}
		})
	}
}

// TestReplaceTurnClose goes through random changes of type, scheme, name and
// all that TestOpenTurnClose changes, with and without consent to replace the
// load balancer. No listener ever leads to a target group of another load
// balancer, nor where nothing lets it in.
func TestReplaceTurnClose(t *testing.T) {
	for seed := range uint64(*seeds) * 3 {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7)) // the same each time
			b := newBed(t, fakeaws.Options{
				Delays:  fakeaws.Delays{Activate: time.Minute, Initial: 10 * time.Second, Drain: time.Duration(seed%2) * time.Minute, Release: 5 * time.Second},
				Changed: neverShut(t),
			})
			b.privateSubnets()
			b.cloud.AddCertificate("*.apps.example.com")
			groups := []string{b.cloud.AddSecurityGroup("theirs", nil), b.cloud.AddSecurityGroup("theirs", nil)}
			for _, g := range groups {
				b.cloud.Allow(g, "tcp", 1, 65535, "0.0.0.0/0")
			}
			spec := routerSpec(4)
			spec.Annotations["fairlead.dev/domain"] = "apps.example.com"
			for range 20 {
				spec = replaced(random, turned(random, spec, groups))
				if random.IntN(3) == 0 {
					b.refuse(random)
				}
				for range 1 + random.IntN(6) {
					_, _ = b.hook.Ensure(t.Context(), spec) // it may be refused
					_, _ = b.hook.UpdateTargets(t.Context(), spec)
					b.clock.ahead += time.Duration(random.IntN(90)) * time.Second
					if random.IntN(5) == 0 {
						b.restart()
					}
				}
				b.cloud.Heal()
				if b.checkAssociations(); t.Failed() {
					t.Fatalf("with %+v", spec)
				}
			}
			b.clock.ahead += time.Hour
			b.ensure(spec)
			b.one()
			b.checkAssociations()
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

// replaced changes what needs another load balancer.
func replaced(random *rand.Rand, s *hook.Spec) *hook.Spec {
	toggle := func(key string, values ...string) {
		if v := values[random.IntN(len(values))]; v == "" || s.Annotations[key] == v {
			delete(s.Annotations, key)
		} else {
			s.Annotations[key] = v
		}
	}
	switch random.IntN(6) {
	case 0, 1:
		toggle(prefix+"type", "alb")
		if len(s.Ports) > 2 {
			s.Ports = slices.Clone(s.Ports[:2])
		}
	case 2:
		toggle(prefix+"internal", "true")
	case 3:
		toggle(prefix+"name", "", "edge", "edge-two")
	}
	s.Recreate = random.IntN(4) > 0
	return s
}

// TestSameNameOtherType: a load balancer that the user named cannot be replaced
// by one of another type with the same name; it stays as it is, and that is
// said, until it gets another name.
func TestSameNameOtherType(t *testing.T) {
	b := newBed(t, fakeaws.Options{Changed: neverShut(t)})
	b.cloud.AddCertificate("*.apps.example.com")
	spec := routerSpec(4)
	spec.Recreate = true
	spec.Annotations["fairlead.dev/domain"], spec.Annotations[prefix+"name"] = "apps.example.com", "edge"
	b.ensure(spec)
	before := b.one()
	spec.Annotations[prefix+"type"] = "alb"
	var r *hook.Result
	if got := b.changes(func() { r = b.ensure(spec); b.restart(); b.ensure(spec) }); len(got) > 0 || b.one().ARN != before.ARN {
		t.Errorf("changes: %v", got)
	}
	if len(r.Problems) != 1 || r.Problems[0].Reason != "RecreateRequired" || r.Problems[0].Field != prefix+"name" {
		t.Errorf("problems: %+v", r.Problems)
	}
	spec.Annotations[prefix+"name"] = "edge-alb"
	if r = b.ensure(spec); len(r.Problems) > 0 || b.one().Type != "application" || b.one().Name != "edge-alb" {
		t.Errorf("problems %+v, load balancer %s", r.Problems, b.one().Name)
	}
	b.checkAssociations()
	b.delete(spec.Ref)
	b.checkEmpty()
}
