package stack

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// observed is what is known of a Service with everything.
func observed() Observed {
	at := time.Unix(1000, 0)
	t1, t2 := Target{ID: "i-1", Port: 80}, Target{ID: "i-2", Port: 80}
	o := Observed{found: true, readAt: map[Part]time.Time{}, refused: map[string]time.Time{"i-9": at}, leftOut: []Mapping{{Subnet: "subnet-c"}}}
	o.State = State{
		Balancer: &Balancer{
			Name: "lb", ARN: "arn:lb", DNSName: "lb.example.com", AddressType: "ipv4", Subnets: []Mapping{{Subnet: "subnet-a"}}, SecurityGroups: []string{"sg-1"},
			Attributes: map[string]string{"a": "1"}, Tags: map[string]string{"t": "1"},
		},
		Former:   []Balancer{{Name: "former", ARN: "arn:former", SecurityGroups: []string{"sg-1"}, Tags: map[string]string{"t": "1"}}},
		Frontend: &SecurityGroup{ID: "sg-1", Name: "frontend", Rules: []Rule{{Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"}}, Tags: map[string]string{"t": "1"}},
		Groups: []TargetGroup{{
			Name: "tg", ARN: "arn:tg", Attributes: map[string]string{"a": "1"}, Tags: map[string]string{"t": "1"}, UsedBy: []string{"arn:lb", "arn:former"},
			Targets: []Target{t1, t2}, Health: map[Target]Health{t1: {State: "healthy"}, t2: {State: "healthy"}},
		}, {Name: "other", ARN: "arn:other"}},
		Listeners: []Listener{{
			Port: 443, Protocol: "TLS", ARN: "arn:443", Group: "tg", Certificates: []string{"c1", "c2"}, Attributes: map[string]string{"a": "1"}, Tags: map[string]string{"t": "1"},
		}},
		Nodes: []SecurityGroup{{ID: "sg-2", Rules: []Rule{{Protocol: "tcp", From: 30080, To: 30080, Group: "sg-1"}}}},
		ACL:   "arn:acl", PublishedAt: at,
	}
	for _, p := range append(o.Parts(Stack{ACL: "x", NodeGroups: []string{"sg-2"}}), o.ListenerParts(Stack{})...) {
		o.readAt[p] = at
	}
	return o
}

// unchanged fails the test if a value is not what observed returns.
func unchanged(t *testing.T, name string, o Observed) {
	t.Helper()
	if diff := cmp.Diff(observed(), o, cmp.AllowUnexported(Observed{})); diff != "" {
		t.Errorf("%s changed the value that it began with:\n%s", name, diff)
	}
}

// actions are one of each kind, as AWS carried them out.
func actions() []Action {
	rule := Rule{Protocol: "tcp", From: 443, To: 443, CIDR: "0.0.0.0/0"}
	t1, t3 := Target{ID: "i-1", Port: 80}, Target{ID: "i-3", Port: 80}
	set, remove := map[string]string{"t": "2", "u": "1"}, []string{"t"}
	return []Action{
		CreateSecurityGroup{SecurityGroup{ID: "sg-3"}},
		ChangeRules{"sg-1", []Rule{rule}, observed().State.Frontend.Rules},
		ChangeRules{"sg-2", []Rule{rule}, observed().State.Nodes[0].Rules},
		DeleteSecurityGroup{"sg-1"},
		CreateTargetGroup{TargetGroup{Name: "new", ARN: "arn:new"}},
		ModifyTargetGroup{"tg", HealthCheck{Protocol: "TCP"}},
		SetGroupAttributes{"tg", map[string]string{"a": "2", "b": "1"}},
		DeleteTargetGroup{"tg"},
		CreateBalancer{Balancer{Name: "lb", ARN: "arn:lb2"}, false},
		SetSecurityGroups{[]string{"sg-4"}, false},
		SetSubnets{[]Mapping{{Subnet: "subnet-b"}}},
		SetAddressType{"dualstack"},
		SetBalancerAttributes{"lb", map[string]string{"a": "2", "b": "1"}},
		SetACL{"none"},
		DeleteBalancer{"lb"},
		DeleteBalancer{"former"},
		CreateListener{Listener{Port: 80, Protocol: "TCP", ARN: "arn:80", Group: "arn:other"}},
		ModifyListener{Listener{Port: 443, Protocol: "TCP", Group: "other"}},
		ChangeCertificates{443, []string{"c3"}, []string{"c2"}},
		SetListenerAttributes{443, map[string]string{"a": "2", "b": "1"}},
		DeleteListener{443},
		Register{"tg", []Target{t3}},
		Deregister{"tg", []Target{t1}},
		Tag{Resource{Balancer: "lb"}, set, remove},
		Tag{Resource{Group: "tg"}, set, remove},
		Tag{Resource{Port: 443}, set, remove},
		Tag{Resource{Frontend: true}, set, remove},
	}
}

// TestAfter: each action has an effect on what is known, and leaves the value
// from which it began as it was.
func TestAfter(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, a := range actions() {
		covered[reflect.TypeOf(a).Name()] = true
		o := observed()
		n := o.After(Outcome{Done: []Action{a}}, time.Unix(2000, 0))
		unchanged(t, a.String(), o)
		if cmp.Equal(n.State, observed().State) {
			t.Errorf("%s: nothing is known of it", a)
		}
		// What comes of it belongs to nothing else, either.
		again := n.After(Outcome{Done: actions()}, time.Unix(3000, 0))
		if !cmp.Equal(n, observed().After(Outcome{Done: []Action{a}}, time.Unix(2000, 0)), cmp.AllowUnexported(Observed{})) {
			t.Errorf("%s: its result was changed later: %+v", a, again)
		}
	}
	source, err := os.ReadFile("action.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`func \(a (\w+)\) String`).FindAllStringSubmatch(string(source), -1) {
		if !covered[m[1]] {
			t.Errorf("no %s is tried", m[1])
		}
	}
}

// TestAfterOutcome: what else an outcome says.
func TestAfterOutcome(t *testing.T) {
	t.Parallel()
	now := time.Unix(2000, 0)
	nodes := Part{PartNodes, "sg-2"}
	for _, c := range []struct {
		name string
		out  Outcome
		ok   func(Observed) bool
	}{
		{"refused targets are left out", Outcome{Refused: []Target{{ID: "i-1"}}}, func(o Observed) bool {
			want := Stack{Groups: []TargetGroup{{Targets: []Target{{ID: "i-1"}, {ID: "i-2"}, {ID: "i-9"}}}}}
			return len(o.WithoutRefused(want, now).Groups[0].Targets) == 2 && len(o.WithoutRefused(want, now.Add(time.Hour)).Groups[0].Targets) == 3 && len(want.Groups[0].Targets) == 3
		}},
		{"a zone that is left out is reported", Outcome{LeftOut: []Mapping{{Subnet: "subnet-b"}}}, func(o Observed) bool {
			return strings.Contains(o.zonesLeftOut(), "subnet-b")
		}},
		{"outdated rules are read again", Outcome{RulesOutdated: true}, func(o Observed) bool {
			return o.ReadAt(nodes).IsZero() && !o.ReadAt(Part{Kind: PartBalancer}).IsZero()
		}},
		{"what is outdated is looked up again", Outcome{Outdated: true}, func(o Observed) bool {
			return !o.Found() && o.State.Empty() && o.refused["i-9"].Unix() == 1000 && o.zonesLeftOut() != ""
		}},
	} {
		o := observed()
		if n := o.After(c.out, now); !c.ok(n) {
			t.Errorf("%s: %+v", c.name, n)
		}
		unchanged(t, c.name, o)
	}
}

// TestWith: each part that is read changes what is known of it, and leaves the
// value from which it began as it was.
func TestWith(t *testing.T) {
	t.Parallel()
	now := time.Unix(2000, 0)
	target := Target{ID: "i-5", Port: 80}
	for kind := PartBalancer; kind <= PartACL; kind++ {
		r := Reading{
			Part: Part{Kind: kind}, Balancer: Balancer{Name: "lb", ARN: "arn:lb", State: "active"}, SecurityGroups: []SecurityGroup{{ID: "sg-9"}},
			Listeners: []Listener{{Port: 443, ARN: "arn:443", Group: "arn:other", Certificates: []string{"c1"}}, {Port: 80, ARN: "arn:80", Group: "arn:stranger"}},
			Groups:    []TargetGroup{{Name: "tg", Check: HealthCheck{Port: "80"}}}, Tags: map[string]map[string]string{"arn:lb": {"t": "9"}},
			Attributes: map[string]string{"a": "9"}, Certificates: []string{"c9", "c1"}, Targets: []Target{target}, Health: map[Target]Health{target: {State: "initial"}},
		}
		switch kind {
		case PartGroupAttributes, PartTargets:
			r.Part.Key = "tg"
		case PartListenerAttributes, PartCertificates:
			r.Part.Key = "443"
		case PartNodes:
			r.Part.Key = "sg-2"
		default:
		}
		o := observed()
		n := o.With(r, now)
		unchanged(t, fmt.Sprint(r.Part), o)
		if !n.ReadAt(r.Part).Equal(now) || cmp.Equal(n.State, observed().State) {
			t.Errorf("part %+v: nothing is known of it", r.Part)
		}
		switch kind {
		case PartBalancer:
			if n.State.Balancer.Tags["t"] != "1" || n.State.Balancer.Attributes["a"] != "1" || n.State.Balancer.State != "active" {
				t.Errorf("load balancer %+v", n.State.Balancer)
			}
		case PartListeners:
			kept, added := n.State.Listeners[0], n.State.Listeners[1]
			if kept.Group != "other" || kept.Tags["t"] != "1" || len(kept.Certificates) != 2 || added.Group != "arn:stranger" {
				t.Errorf("listeners %+v", n.State.Listeners)
			}
			if !n.ReadAt(Part{Kind: PartTags}).IsZero() {
				t.Error("the tags of a listener that is new are not read")
			}
		case PartCertificates:
			if got := n.State.Listeners[0].Certificates; !cmp.Equal(got, []string{"c1", "c9"}) {
				t.Errorf("certificates %v", got)
			}
		default:
		}
	}
}

// TestFor: what was read of one load balancer is never taken for that of another.
func TestFor(t *testing.T) {
	t.Parallel()
	o := observed()
	n := o.For("former")
	unchanged(t, "For", o)
	if n.State.Balancer.Name != "former" || len(n.State.Former) != 1 || n.State.Former[0].Name != "lb" {
		t.Fatalf("turned to %+v, former %+v", n.State.Balancer, n.State.Former)
	}
	if len(n.State.Listeners) > 0 || n.State.ACL != "" || !n.ReadAt(Part{Kind: PartListeners}).IsZero() || n.ReadAt(Part{Kind: PartFrontend}).IsZero() {
		t.Errorf("what is known of the other one stays: %+v", n)
	}
	if same := o.For("lb"); !cmp.Equal(same, o, cmp.AllowUnexported(Observed{})) {
		t.Errorf("the same one again is %+v", same)
	}
	if none := o.For("new"); none.State.Balancer != nil || len(none.State.Former) != 2 {
		t.Errorf("one that does not exist: %+v", none.State)
	}
}

// TestPublished: a former load balancer stays until its name was replaced for long enough.
func TestPublished(t *testing.T) {
	t.Parallel()
	o := observed()
	o.State.PublishedAt = time.Time{}
	first, later := time.Unix(2000, 0), time.Unix(3000, 0)
	n := o.Published("lb.example.com", false, first).Published("lb.example.com", false, later)
	if !n.State.PublishedAt.Equal(first) {
		t.Errorf("published since %v", n.State.PublishedAt)
	}
	for name, n := range map[string]Observed{
		"pending": n.Published("lb.example.com", true, later), "the former name": n.Published("former.example.com", false, later), "no name": n.Published("", false, later),
	} {
		if !n.State.PublishedAt.IsZero() {
			t.Errorf("%s: published since %v", name, n.State.PublishedAt)
		}
	}
}

// TestFailures: what depends on something that failed is left out, and the rest is not.
func TestFailures(t *testing.T) {
	t.Parallel()
	have := observed().State
	open := ChangeRules{Group: "sg-2", Authorize: []Rule{{Protocol: "tcp", From: 30080, To: 30080}}}
	create := CreateListener{Listener{Port: 80, Group: "new"}}
	for _, c := range []struct {
		failed    Action
		prevented []Action
		tried     []Action
	}{
		{CreateTargetGroup{TargetGroup{Name: "new"}}, []Action{Register{Name: "new"}, create}, []Action{Register{Name: "tg"}, SetAddressType{"ipv4"}}},
		{open, []Action{SetSecurityGroups{}, Register{"tg", []Target{{Port: 30080}}}, create}, []Action{Register{"tg", []Target{{Port: 30081}}}, DeleteBalancer{"former"}}},
		{ChangeRules{Authorize: open.Authorize}, []Action{create, SetSecurityGroups{Frontend: true}}, []Action{SetSecurityGroups{}}},
		{ChangeRules{Group: "sg-2", Revoke: open.Authorize}, []Action{DeleteBalancer{"former"}}, []Action{create}},
		{SetACL{"arn"}, []Action{create}, []Action{ModifyListener{have.Listeners[0]}}},
	} {
		for i, prevented := range [][]Action{c.tried, c.prevented} {
			for _, a := range prevented {
				var f Failures
				if !f.Add(c.failed, false) {
					t.Errorf("after %s, nothing is tried", c.failed)
				}
				if f.Prevent(a, have) != (i == 1) {
					t.Errorf("after %s, %s is prevented: %v", c.failed, a, i == 0)
				}
			}
		}
	}
	var f Failures
	if f.Add(CreateBalancer{}, false) {
		t.Error("after a load balancer failed, the rest is tried")
	}
	if full := (Register{Name: "tg"}); !f.Add(full, true) || f.Prevent(Deregister{Name: "tg"}, have) {
		t.Error("a full target group is not emptied")
	}
}

// TestFind: the tags say what a Service has, and nothing else does.
func TestFind(t *testing.T) {
	t.Parallel()
	ref := hook.Ref{Cluster: "c", Namespace: "ns", Name: "n", UID: "u"}
	mine, other := Tags(ref, ResourceBalancer, nil), Tags(hook.Ref{Cluster: "c", Namespace: "ns", Name: "n", UID: "v"}, ResourceBalancer, nil)
	all := Inventory{
		At: time.Unix(1000, 0), Balancers: []Balancer{{Name: "b", ARN: "arn:b", Tags: mine}, {Name: "a", ARN: "arn:a", Tags: mine}, {Name: "x", ARN: "arn:x", Tags: other}},
		Groups: []TargetGroup{{Name: "g", Tags: mine}, {Name: "h", Tags: other}}, Frontends: []SecurityGroup{{ID: "sg-1", Tags: mine}, {ID: "sg-2", Tags: other}},
	}
	o, err := all.Find(ref, false, Observed{})
	if err != nil || !o.Found() || len(o.State.Former) != 2 || o.State.Former[0].Name != "a" || len(o.State.Groups) != 1 || o.State.FrontendID() != "sg-1" {
		t.Errorf("found %+v, %v", o, err)
	}
	if refs := all.Owners("c"); len(refs) != 2 || refs[0].Handle == "" || refs[1].UID != "v" {
		t.Errorf("owners %+v", refs)
	}
	ref.Handle = "arn:x"
	if _, err := all.Find(ref, false, Observed{}); hook.ClassOf(err) != hook.ClassConflict {
		t.Errorf("a handle of another Service: %v", err)
	}
	if _, err := all.Find(ref, true, Observed{}); err != nil {
		t.Errorf("a deletion with a handle of another Service: %v", err)
	}
}
