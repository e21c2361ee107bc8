package cases

import (
	"fmt"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

var (
	someTiers = []string{"inner", "outer"}
	someCIDRs = []v1alpha1.CIDR{"127.0.0.0/8", "127.0.0.1", "10.0.0.0/8", "198.18.0.0/15", "::1", "0.0.0.0/0"}
)

// ofIngress makes a route one that the operator has made of an Ingress.
func (u *universe) ofIngress(r *routev1.Route) {
	r.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: fmt.Sprintf("i%d", u.IntN(2)), Controller: new(true),
	}}
	r.Annotations["fairlead.dev/ingress-labels"] = "tier=" + pick(u, someTiers)
}

// policyChange writes or deletes a policy, or has a namespace name one.
func (u *universe) policyChange(c *change) {
	name, space := fmt.Sprintf("p%d", u.IntN(4)), pick(u, spaces)
	switch u.IntN(7) {
	case 6:
		n := &corev1.Namespace{ObjectMeta: u.policyMeta("", space)}
		n.Annotations = pick(u, []map[string]string{nil, {api.AnnotationDefaultPolicy: name}, {api.AnnotationDefaultPolicy: "/"}})
		c.put = append(c.put, n)
	case 0:
		c.del = append(c.del, model.Object{Kind: policy.KindRoutePolicy, Namespace: space, Name: name})
	case 1:
		c.del = append(c.del, model.Object{Kind: policy.KindClusterRoutePolicy, Name: name})
	case 2:
		p := &v1alpha1.ClusterRoutePolicy{ObjectMeta: u.policyMeta("", name), Spec: v1alpha1.ClusterRoutePolicySpec{
			Mode: pick(u, []string{"Default", "Override"}), PolicySpec: u.policySpec(),
		}}
		if u.IntN(2) == 0 {
			p.Spec.Namespaces = []string{space}
		}
		if u.IntN(2) == 0 {
			p.Spec.Hosts = []string{pick(u, []string{"a.u.test", "*.u.test", "*.b.u.test"})}
		}
		c.put = append(c.put, p)
	default:
		p := &v1alpha1.RoutePolicy{ObjectMeta: u.policyMeta(space, name), Spec: v1alpha1.RoutePolicySpec{PolicySpec: u.policySpec()}}
		switch u.IntN(5) {
		case 0, 1:
			p.Spec.TargetRefs = []v1alpha1.TargetRef{{Group: routev1.GroupName, Kind: "Route", Name: fmt.Sprintf("r%d", u.IntN(8))}}
		case 2:
			p.Spec.TargetRefs = []v1alpha1.TargetRef{{Group: "networking.k8s.io", Kind: "Ingress", Name: fmt.Sprintf("i%d", u.IntN(2)), SectionName: pick(u, []string{"", "a.u.test"})}}
		case 3:
			p.Spec.TargetSelector = &v1alpha1.TargetSelector{Kind: pick(u, []string{"Route", "Ingress"}), MatchLabels: map[string]string{"tier": pick(u, someTiers)}}
		}
		c.put = append(c.put, p)
	}
}

func (u *universe) policyMeta(namespace, name string) metav1.ObjectMeta {
	u.uids++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Generation: int64(u.uids), CreationTimestamp: metav1.Unix(int64(u.IntN(4)), 0),
	}
}

func (u *universe) policySpec() v1alpha1.PolicySpec {
	s := v1alpha1.PolicySpec{}
	if u.IntN(4) > 0 {
		s.Access = &v1alpha1.Access{}
		for range 1 + u.IntN(2) {
			s.Access.Allow = append(s.Access.Allow, pick(u, someCIDRs))
		}
		if u.IntN(8) == 0 {
			s.Access.Deny = []v1alpha1.CIDR{"nonsense"}
		}
	}
	return s
}

// TestPolicyReportsOfEach: what is said of policies after random changes is what is
// said of the same objects at once.
func TestPolicyReportsOfEach(t *testing.T) {
	t.Parallel()
	nothing := func() model.Objects { return nil }
	u := newUniverse(t)
	u.policies = true
	k := newCore(t)
	k.apply(u.services())
	said := map[model.Object]policy.Report{}
	for n := range 200 {
		k.apply(u.change())
		for _, r := range k.pipeline.PolicyReports(nothing) {
			said[r.Key] = r
		}
		full, err := k.full(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range full.PolicyReports(nothing) {
			if got := said[want.Key]; !got.Equal(&want) {
				t.Fatalf("after change %d: %s\n%+v\nat once\n%+v", n, policy.Title(want.Key), got, want)
			}
		}
	}
}
