package aws_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// nodeRules are the rules of the nodes' security group.
func (b *bed) nodeRules() []string {
	for _, g := range b.cloud.SecurityGroups() {
		if g.ID == b.nodes {
			return g.Rules
		}
	}
	return nil
}

// TestTypoInSecurityGroups: a group that does not exist changes nothing at all
// of a load balancer that serves, and is told; what else changes goes on.
func TestTypoInSecurityGroups(t *testing.T) {
	for name, suffix := range map[string]string{"instead of ours": "security-groups", "besides ours": "extra-security-groups"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			spec := routerSpec(3)
			b.ensure(spec)
			before := b.nodeRules()
			spec = routerSpec(3)
			spec.Annotations[prefix+suffix] = "sg-0123456789abcdef9"
			var last *hook.Result
			got := b.changes(func() {
				for range 3 {
					r, err := b.hook.Ensure(t.Context(), spec)
					if err != nil {
						t.Fatal(err)
					}
					last = r
					b.clock.ahead += time.Minute
				}
			})
			if len(got) > 0 || !slices.Equal(before, b.nodeRules()) {
				t.Errorf("changed: %v; rules of the nodes %v, before %v", got, b.nodeRules(), before)
			}
			told := slices.ContainsFunc(last.Problems, func(p hook.Problem) bool {
				return p.Reason == "InvalidConfiguration" && p.Field == prefix+suffix && strings.Contains(p.Message, "sg-0123456789abcdef9 does not exist")
			})
			if !told || last.State != hook.StateDegraded {
				t.Errorf("state %s, problems %+v", last.State, last.Problems)
			}
			spec.Targets = routerSpec(4).Targets
			if got := b.changes(func() { _, _ = b.hook.Ensure(t.Context(), spec) }); !slices.Equal(got, []string{"RegisterTargets", "RegisterTargets"}) {
				t.Errorf("a node more: %v", got)
			}
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(3)
	spec.Annotations[prefix+"security-groups"] = "sg-0123456789abcdef9"
	got := b.changes(func() {
		if _, err := b.hook.Ensure(t.Context(), spec); hook.ClassOf(err) != hook.ClassInvalidConfig || hook.AsError(err).Field != prefix+"security-groups" {
			t.Errorf("a new load balancer: %v", err)
		}
	})
	if len(got) > 0 {
		t.Errorf("a new load balancer: %v", got)
	}
}

// TestRefusedSecurityGroups: AWS refuses groups that are there. Nothing that
// serves is closed, and it goes on when AWS takes them.
func TestRefusedSecurityGroups(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	b.ensure(routerSpec(3))
	before := b.nodeRules()
	spec := routerSpec(3)
	theirs := b.cloud.AddSecurityGroup("theirs", nil)
	b.cloud.Allow(theirs, "tcp", 1, 65535, "0.0.0.0/0")
	spec.Annotations[prefix+"security-groups"] = theirs
	spec.Annotations[prefix+"manage-backend-security-group-rules"] = "true"
	b.cloud.Script(fakeaws.Fault{Action: "SetSecurityGroups", Effect: fakeaws.Refuse(http.StatusBadRequest, "InvalidSecurityGroup", "not this one")})
	for range 3 {
		_, err := b.hook.Ensure(t.Context(), spec)
		if e := hook.AsError(err); hook.ClassOf(err) != hook.ClassInvalidConfig || e.Field != prefix+"security-groups" {
			t.Errorf("got %v", err)
		}
		b.clock.ahead += time.Minute
	}
	for _, r := range before {
		if !slices.Contains(b.nodeRules(), r) {
			t.Errorf("the rule %s is gone; left are %v", r, b.nodeRules())
		}
	}
	if shut := b.cloud.Shut(); len(shut) > 0 {
		t.Error(shut)
	}
	b.cloud.Heal()
	b.ensure(spec)
	for _, r := range b.nodeRules() {
		if !strings.HasSuffix(r, theirs) {
			t.Errorf("the rule %s is left", r)
		}
	}
	if n := len(b.cloud.SecurityGroups()); n != 2 {
		t.Errorf("%d security groups, want that of the nodes and theirs", n)
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}

// second is another router's Service, whose pods have the same ports.
func second(spec *hook.Spec) *hook.Spec {
	other := *spec
	other.Ref.Name, other.Ref.UID = "router-second", "3f0c8a52-1111-4222-8333-444455557777"
	return &other
}

// TestSharedSecurityGroup: two Services with one group of the user keep each
// other's rules, and each closes its own when it goes, also the hook that knows
// only one of them.
func TestSharedSecurityGroup(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	theirs := b.cloud.AddSecurityGroup("theirs", nil)
	b.cloud.Allow(theirs, "tcp", 1, 65535, "0.0.0.0/0")
	one := routerSpec(3)
	one.Annotations = map[string]string{
		prefix + "security-groups": theirs, prefix + "manage-backend-security-group-rules": "true",
	}
	two := second(one)
	two.Ports = slices.Clone(one.Ports)
	two.Ports[0].NodePort, two.HealthCheckNodePort = 31080, 32200 // 30443 is that of both
	b.ensure(one)
	b.ensure(two)
	all := []string{"30080-30080", "30443-30443", "31080-31080", "32100-32100", "32200-32200"}
	rules := func(ports ...string) {
		t.Helper()
		var want []string
		for _, p := range ports {
			want = append(want, "tcp "+p+" "+theirs)
		}
		if got := b.nodeRules(); !slices.Equal(want, got) {
			t.Errorf("rules %v, want %v", got, want)
		}
	}
	rules(all...)
	if got := b.changes(func() {
		b.ensure(one)
		b.ensure(two)
		b.restart()
		b.ensure(one)
		b.ensure(two)
		b.ensure(one)
	}); len(got) > 0 {
		t.Errorf("they change each other: %v", got)
	}
	// After a start the first is all that is known, and it changes.
	b.restart()
	moved := *one
	moved.Ports = slices.Clone(one.Ports)
	moved.Ports[0].NodePort, moved.Ports[1].NodePort = 32080, 32443
	b.ensure(&moved)
	if shut := b.cloud.Shut(); len(shut) > 0 {
		t.Error(shut)
	}
	b.ensure(two)
	b.ensure(&moved)
	rules("30443-30443", "31080-31080", "32080-32080", "32100-32100", "32200-32200", "32443-32443")
	b.delete(moved.Ref)
	rules("30443-30443", "31080-31080", "32200-32200")
	if shut := b.cloud.Shut(); len(shut) > 0 {
		t.Error(shut)
	}
	b.delete(two.Ref)
	rules()
	b.checkEmpty()
}

// TestRulesOfUserGroupsGo: rules of a group of the user go when the Service
// does not name it any more, and with the Service.
func TestRulesOfUserGroupsGo(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			theirs := b.cloud.AddSecurityGroup("theirs", nil)
			b.cloud.Allow(theirs, "tcp", 1, 65535, "0.0.0.0/0")
			spec := routerSpec(3)
			own := map[string]string{prefix + "security-groups": theirs, prefix + "manage-backend-security-group-rules": "true"}
			with := func(annotations map[string]string) {
				if restart {
					b.restart()
				}
				s := *spec
				s.Annotations = annotations
				b.ensure(&s)
			}
			from := func(source string) int {
				return len(slices.DeleteFunc(slices.Clone(b.nodeRules()), func(r string) bool { return !strings.HasSuffix(r, source) }))
			}
			with(own)
			if from(theirs) != 3 {
				t.Errorf("rules %v", b.nodeRules())
			}
			with(map[string]string{})
			if from(theirs) != 0 || from("sg-") != 0 && len(b.nodeRules()) != 3 {
				t.Errorf("without the annotation: %v", b.nodeRules())
			}
			with(own)
			if from(theirs) != 3 || len(b.nodeRules()) != 3 {
				t.Errorf("with it again: %v", b.nodeRules())
			}
			with(map[string]string{prefix + "security-groups": theirs})
			if len(b.nodeRules()) != 0 {
				t.Errorf("not to be opened by us: %v", b.nodeRules())
			}
			with(own)
			if restart {
				b.restart()
			}
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

// TestOpenTurnClose goes through random changes of two Services that share a
// group of the user, while AWS refuses calls at random and for good. At no
// moment a listener leads where nothing lets it in; when AWS takes everything
// again, there is what is asked for.
func TestOpenTurnClose(t *testing.T) {
	for seed := range uint64(*seeds) * 3 {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2)) // the same each time
			b := newBed(t, fakeaws.Options{
				Delays:  fakeaws.Delays{Drain: time.Duration(seed%2) * time.Minute, Release: 5 * time.Second},
				Changed: neverShut(t),
			})
			groups := []string{b.cloud.AddSecurityGroup("theirs", nil), b.cloud.AddSecurityGroup("theirs", nil)}
			for _, g := range groups {
				b.cloud.Allow(g, "tcp", 1, 65535, "0.0.0.0/0")
			}
			services := []*hook.Spec{routerSpec(4), second(routerSpec(4))}
			for range 20 {
				i := random.IntN(2)
				services[i] = turned(random, services[i], groups)
				b.refuse(random)
				for range 1 + random.IntN(4) {
					_, _ = b.hook.Ensure(t.Context(), services[random.IntN(2)]) // it may be refused
					_, _ = b.hook.UpdateTargets(t.Context(), services[random.IntN(2)])
					b.clock.ahead += time.Duration(random.IntN(60)) * time.Second
					if random.IntN(5) == 0 {
						b.restart()
					}
				}
				if random.IntN(2) == 0 {
					b.cloud.Heal()
				}
				if t.Failed() {
					t.Fatalf("with %+v", services)
				}
			}
			b.cloud.Heal()
			for _, s := range services {
				b.clock.ahead += time.Hour
				b.ensure(s)
			}
			for _, s := range services {
				b.delete(s.Ref)
			}
			b.checkEmpty()
		})
	}
}

// neverShut fails a test at the first change that shuts something.
func neverShut(t *testing.T) func(*fakeaws.Cloud) {
	return func(c *fakeaws.Cloud) {
		if shut := c.Shut(); len(shut) > 0 && !t.Failed() {
			calls := fakeaws.Changes(c.Since(0))
			for _, call := range calls[max(0, len(calls)-12):] {
				t.Log(call, call.Params)
			}
			t.Errorf("%s", strings.Join(shut, "\n"))
		}
	}
}

// refuse has AWS refuse some kind of changes.
func (b *bed) refuse(random *rand.Rand) {
	actions := []string{
		"SetSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "CreateTargetGroup", "ModifyListener", "CreateListener", "DeleteListener",
		"RegisterTargets", "DeregisterTargets", "ModifyTargetGroup", "DeleteTargetGroup", "CreateSecurityGroup", "DeleteSecurityGroup",
	}
	codes := []string{"InvalidConfigurationRequest", "ValidationError", "InvalidSecurityGroup", "TooManyTargets", "RulesPerSecurityGroupLimitExceeded", "Throttling", "Odd"}
	for range random.IntN(3) {
		b.cloud.Script(fakeaws.Fault{
			Action: actions[random.IntN(len(actions))], Skip: random.IntN(3), Count: random.IntN(4),
			Effect: fakeaws.Refuse(http.StatusBadRequest, codes[random.IntN(len(codes))], "by the script"),
		})
	}
}

// turned changes one or more things of a Service.
func turned(random *rand.Rand, old *hook.Spec, groups []string) *hook.Spec {
	s := *old
	s.Ports, s.Annotations = slices.Clone(old.Ports), maps.Clone(old.Annotations)
	pod := int32(8000 + random.IntN(3))
	for range 1 + random.IntN(2) {
		switch random.IntN(8) {
		case 0:
			s.Ports[random.IntN(2)].NodePort = int32(30000 + random.IntN(2000))
		case 1:
			s.HealthCheckNodePort = int32(32000 + random.IntN(100))
		case 2:
			s.SourceRanges = [][]string{nil, {"198.18.0.0/16"}, {"203.0.113.0/24", "198.18.7.0/24"}}[random.IntN(3)]
		case 3:
			s.Ports = s.Ports[:2]
		case 4:
			s.Ports = append(s.Ports[:2], hook.Port{Name: "sni", Protocol: "TCP", Port: 8443, NodePort: int32(30844 + random.IntN(2)), TargetPort: 8443})
		case 5:
			delete(s.Annotations, prefix+"security-groups")
			delete(s.Annotations, prefix+"manage-backend-security-group-rules")
			if n := random.IntN(3); n < 2 {
				s.Annotations[prefix+"security-groups"], s.Annotations[prefix+"manage-backend-security-group-rules"] = groups[n], "true"
			}
		case 6:
			if s.Annotations[prefix+"nlb-target-type"] == "" {
				s.Annotations[prefix+"nlb-target-type"] = "ip"
			} else {
				delete(s.Annotations, prefix+"nlb-target-type")
			}
		case 7:
			s.Annotations[prefix+"healthcheck-port"] = fmt.Sprint(9000 + random.IntN(2))
		}
	}
	s.Targets.Pods = nil
	for n := range 1 + random.IntN(3) {
		s.Targets.Pods = append(s.Targets.Pods, hook.Pod{Address: fmt.Sprintf("10.0.2.%d", 50+n+random.IntN(3)), Ports: map[int32]int32{80: pod, 443: pod + 100, 8443: pod + 200}})
	}
	return &s
}

// TestSourceRangesAtTheQuota: where there is no room for the new source ranges
// beside the old ones, they take their place without a moment in which nobody
// may come in.
func TestSourceRangesAtTheQuota(t *testing.T) {
	for _, n := range []int{5, 7, 9} {
		b := newBed(t, fakeaws.Options{Limits: fakeaws.Limits{RulesPerSecurityGroup: n}, Changed: neverShut(t)})
		spec := routerSpec(2)
		ranges := func(from int) (list []string) {
			for i := range (n - 2) / 2 {
				list = append(list, fmt.Sprintf("198.18.%d.0/24", from+i))
			}
			return list
		}
		for _, from := range []int{0, 100} {
			spec.SourceRanges = ranges(from)
			b.ensure(spec)
			for _, g := range b.cloud.SecurityGroups() {
				if g.ID == b.nodes {
					continue
				}
				for _, r := range g.Rules {
					if !slices.ContainsFunc(spec.SourceRanges, func(c string) bool { return strings.HasSuffix(r, c) }) {
						t.Errorf("%d rules: %s is left", n, r)
					}
				}
			}
		}
	}
}
