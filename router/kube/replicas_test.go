package kube

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// TestWords: what is written is read again, in any order and bounded; junk says nothing.
func TestWords(t *testing.T) {
	t.Parallel()
	w := words{versionOf("a", 1): wordLive, versionOf("a", 2): wordRefused, versionOf("b", 1): wordUndecided}
	if got := readWords(w.text(mostWords)); !maps.Equal(got, w) {
		t.Errorf("read %v, want %v", got, w)
	}
	if got := readWords(w.text(2)); len(got) != 2 {
		t.Errorf("%d words", len(got))
	}
	many := words{}
	for i := range 10 * mostWords {
		many[versionOf("many", int64(i))] = wordLive
	}
	for replicas := 1; replicas < 200; replicas++ {
		if n := len(many.text(most(replicas))); n*replicas > mostWordBytes || n < 50*wordBytes || n > mostWords*wordBytes {
			t.Errorf("%d replicas: %d bytes each", replicas, n)
		}
	}
	for _, junk := range []string{"", "+", "++++++++++++++++++", "+AAAAAAAAAA=", "\x00\n"} {
		for v, w := range readWords(junk) {
			if w == wordLive && v == versionOf("a", 1) {
				t.Errorf("%q: %v", junk, v)
			}
		}
	}
}

func TestAgree(t *testing.T) {
	t.Parallel()
	v := versionOf("a", 3)
	said := &spoken{by: map[string]words{"live": {v: wordLive}, "refused": {v: wordRefused}, "silent": {}, "older": {versionOf("a", 2): wordLive}}}
	for _, test := range []struct {
		others []string
		before bool
		want   agreement
	}{
		{nil, false, agreement{}},
		{[]string{"live"}, false, agreement{}},
		{[]string{"live", "silent"}, true, agreement{}},
		{[]string{"live", "silent"}, false, agreement{lacking: 1, of: 3, first: "silent"}},
		{[]string{"older", "unknown"}, false, agreement{lacking: 2, of: 3, first: "older"}},
		{[]string{"silent", "refused"}, false, agreement{lacking: 2, of: 3, first: "refused", refused: wordRefused}},
		{[]string{"silent", "refused"}, true, agreement{lacking: 1, of: 3, first: "refused", refused: wordRefused}},
	} {
		if got := agree(v, test.others, said, test.before); got != test.want {
			t.Errorf("%v, %t: %+v, want %+v", test.others, test.before, got, test.want)
		}
	}
	if got := agree(v, []string{"live"}, nil, false); got.lacking != 1 {
		t.Errorf("nothing was read, and it is %+v", got)
	}
}

// podAddress is the address of a pod.
func podAddress(name string) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, name[0], name[1]}) }

// routerPods makes the pods of an IngressController, which are ready.
func (e *env) routerPods(t *testing.T, ic string, names ...string) {
	t.Helper()
	port, ready, protocol := int32(1936), true, corev1.ProtocolTCP
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: ic, Labels: map[string]string{discoveryv1.LabelServiceName: api.InternalServiceName(ic)}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("metrics"), Port: &port, Protocol: &protocol}},
	}
	for _, name := range names {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podAddress(name).String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name},
		})
	}
	slices, ctx := e.core.DiscoveryV1().EndpointSlices("routers"), t.Context()
	_ = slices.Delete(ctx, ic, metav1.DeleteOptions{})
	if _, err := slices.Create(ctx, s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// replica is one of several routers of an IngressController.
type replica struct {
	*StatusWriter
	stop func()
}

func (e *env) replica(t *testing.T, ic, pod string) *replica {
	t.Helper()
	w, s, stop := e.writer(t, Options{RouterName: ic}, "routers")
	s.members.mu.Lock()
	s.members.addresses = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: podAddress(pod).AsSlice(), Mask: net.CIDRMask(24, 32)}}, nil
	}
	s.members.local = nil
	s.members.mu.Unlock()
	if !w.WaitForSync(t.Context()) {
		t.Fatal("no sync")
	}
	return &replica{s, stop}
}

// says reports about a version of a policy, as the router does once it has read it.
func (r *replica) says(t *testing.T, p *v1alpha1.RoutePolicy, reason api.Reason) {
	t.Helper()
	eventually(t, "the version", func() bool {
		o := r.watcher.policies.get(keyOf(policy.KindRoutePolicy, p))
		return o != nil && o.Generation == p.Generation
	})
	c := metav1.Condition{Type: api.ConditionProgrammed, Status: metav1.ConditionTrue, Reason: string(api.ReasonPolicyProgrammed)}
	if reason != "" {
		c.Status, c.Reason = metav1.ConditionFalse, string(reason)
	}
	r.PublishPolicies([]policy.Report{{
		Key: keyOf(policy.KindRoutePolicy, p), UID: string(p.UID), Generation: p.Generation, Targets: 1, Conditions: []metav1.Condition{c},
	}})
}

// TestReplicas: a policy is programmed once all ready replicas have its version, and no
// longer when one of them says otherwise. Each change costs one write of the status, or two
// where an annotation is slow, and one annotation for each of the other replicas.
func TestReplicas(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.installPolicies(t)
	e.namespace(t, "shop", nil)
	e.namespace(t, "routers", nil)
	pods := []string{"one", "two", "three", "four"}
	e.routerPods(t, "all", pods[:3]...)
	all := []*replica{e.replica(t, "all", pods[0]), e.replica(t, "all", pods[1]), e.replica(t, "all", pods[2])}
	var elected *replica
	eventually(t, "an elected replica", func() bool {
		for _, r := range all {
			if r.Stats().Leading {
				elected = r
			}
		}
		return elected != nil
	})
	others := slices.DeleteFunc(slices.Clone(all), func(r *replica) bool { return r == elected })
	p := e.policy(t, "shop", "inner", v1alpha1.RoutePolicySpec{})
	programmed := func() metav1.Condition {
		for _, a := range e.readPolicy(t, "shop", "inner").Status.Ancestors {
			for _, c := range a.Conditions {
				if c.Type == api.ConditionProgrammed && a.AncestorRef.Name == "all" {
					return c
				}
			}
		}
		return metav1.Condition{}
	}
	is := func(generation int64, reason api.Reason) func() bool {
		return func() bool {
			c := programmed()
			return c.ObservedGeneration == generation && c.Reason == string(reason)
		}
	}
	elected.says(t, p, "")
	others[0].says(t, p, "")
	eventually(t, "one is lacking", is(1, api.ReasonPolicyPending))
	others[1].says(t, p, "")
	eventually(t, "all have it", is(1, api.ReasonPolicyProgrammed))

	// Versions that all take at once.
	idle(t, elected.StatusWriter)
	said := func() uint64 { return others[0].replica.count.Load() + others[1].replica.count.Load() }
	writes, annotations := elected.Stats().Writes, said()
	const changes = 20
	slowest := time.Duration(0)
	for i := range changes {
		patch(t, e.crds.fairlead, "routepolicies", "shop", "inner", "", fmt.Sprintf(`{"spec":{"timeouts":{"response":"%ds"}}}`, i+1))
		p = e.readPolicy(t, "shop", "inner")
		began := time.Now()
		for _, r := range all {
			r.says(t, p, "")
		}
		eventually(t, "all have the new version", is(p.Generation, api.ReasonPolicyProgrammed))
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest of %d changes was programmed after %v", changes, slowest)
	// A write is counted after the API server has answered, and seen before.
	eventually(t, "all writes are counted", func() bool { return elected.Stats().Writes-writes >= changes })
	if n := elected.Stats().Writes - writes; n > 2*changes {
		t.Errorf("%d writes of the status for %d changes", n, changes)
	}
	if n := said() - annotations; n != 2*changes || elected.replica.count.Load() != 0 {
		t.Errorf("%d annotations of the others for %d changes, and %d of the elected replica", n, changes, elected.replica.count.Load())
	}
	for _, r := range others {
		if n := r.Stats().Writes; n != 0 {
			t.Errorf("another replica wrote %d statuses", n)
		}
	}

	// One cannot take what the others have.
	others[0].says(t, p, api.ReasonRefusedByHAProxy)
	eventually(t, "the refusal", is(p.Generation, api.ReasonRefusedByHAProxy))
	others[0].says(t, p, "")
	eventually(t, "its end", is(p.Generation, api.ReasonPolicyProgrammed))

	// The elected one goes, and another one has heard nothing yet.
	elected.stop()
	e.routerPods(t, "all", pods...)
	four := e.replica(t, "all", pods[3])
	eventually(t, "another elected replica", func() bool { return others[0].Stats().Leading || others[1].Stats().Leading || four.Stats().Leading })
	four.says(t, p, "")
	if c := programmed(); c.Status != metav1.ConditionTrue {
		t.Errorf("after the election: %v", c)
	}
	patch(t, e.crds.fairlead, "routepolicies", "shop", "inner", "", `{"spec":{"timeouts":{"response":"1m"}}}`)
	p = e.readPolicy(t, "shop", "inner")
	for _, r := range append(others, four) {
		r.says(t, p, "")
	}
	eventually(t, "the pod that is gone is lacking", is(p.Generation, api.ReasonPolicyPending))
	// Its pod is not ready any more.
	e.routerPods(t, "all", slices.DeleteFunc(slices.Clone(pods), func(name string) bool { return name == pods[slices.Index(all, elected)] })...)
	eventually(t, "the others have it", is(p.Generation, api.ReasonPolicyProgrammed))
}
