package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

var (
	earlier = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later   = metav1.NewTime(time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC))
)

func condition(status corev1.ConditionStatus, reason, message string, at *metav1.Time) routev1.RouteIngressCondition {
	return routev1.RouteIngressCondition{
		Type: routev1.RouteAdmitted, Status: status, Reason: reason, Message: message, LastTransitionTime: at,
	}
}

func ingressOf(router, host string, conditions ...routev1.RouteIngressCondition) routev1.RouteIngress {
	return routev1.RouteIngress{
		RouterName: router, Host: host, RouterCanonicalHostname: "router-" + router + ".apps.example.com",
		WildcardPolicy: routev1.WildcardPolicyNone, Conditions: conditions,
	}
}

func TestWithEntry(t *testing.T) {
	t.Parallel()
	admitted := ingressOf("default", "a.example.com", condition(corev1.ConditionTrue, "", "", nil))
	refused := ingressOf("default", "a.example.com", condition(corev1.ConditionFalse, "HostAlreadyClaimed", "taken", nil))
	admittedAt := func(at metav1.Time) routev1.RouteIngress {
		return ingressOf("default", "a.example.com", condition(corev1.ConditionTrue, "", "", &at))
	}
	other := ingressOf("shard", "a.example.com", condition(corev1.ConditionTrue, "", "", &earlier))
	unknown := routev1.RouteIngressCondition{Type: "Custom", Status: corev1.ConditionTrue}

	tests := []struct {
		name    string
		current []routev1.RouteIngress
		want    routev1.RouteIngress
		result  []routev1.RouteIngress
		differs bool
	}{
		{
			name: "first entry", want: admitted,
			result: []routev1.RouteIngress{admittedAt(later)}, differs: true,
		},
		{
			name: "entry after that of another router", current: []routev1.RouteIngress{other}, want: admitted,
			result: []routev1.RouteIngress{other, admittedAt(later)}, differs: true,
		},
		{
			name: "nothing new", current: []routev1.RouteIngress{admittedAt(earlier), other}, want: admitted,
			result: []routev1.RouteIngress{admittedAt(earlier), other},
		},
		{
			name: "status flips and its time moves", current: []routev1.RouteIngress{admittedAt(earlier), other}, want: refused,
			result: []routev1.RouteIngress{
				ingressOf("default", "a.example.com", condition(corev1.ConditionFalse, "HostAlreadyClaimed", "taken", &later)), other,
			},
			differs: true,
		},
		{
			name: "message changes and the time stays",
			current: []routev1.RouteIngress{
				ingressOf("default", "a.example.com", condition(corev1.ConditionFalse, "HostAlreadyClaimed", "old", &earlier)),
			},
			want: refused,
			result: []routev1.RouteIngress{
				ingressOf("default", "a.example.com", condition(corev1.ConditionFalse, "HostAlreadyClaimed", "taken", &earlier)),
			},
			differs: true,
		},
		{
			name:    "host changes and the time stays",
			current: []routev1.RouteIngress{ingressOf("default", "b.example.com", condition(corev1.ConditionTrue, "", "", &earlier))},
			want:    admitted, result: []routev1.RouteIngress{admittedAt(earlier)}, differs: true,
		},
		{
			name: "condition without a time gets one with the next change only",
			current: []routev1.RouteIngress{
				ingressOf("default", "a.example.com", condition(corev1.ConditionTrue, "", "", nil)),
			},
			want: admitted, result: []routev1.RouteIngress{admitted},
		},
		{
			name:    "second entry of ours goes away",
			current: []routev1.RouteIngress{admittedAt(earlier), other, admittedAt(later)}, want: admitted,
			result: []routev1.RouteIngress{admittedAt(earlier), other}, differs: true,
		},
		{
			name: "conditions that are not known stay, obsolete ones go away",
			current: []routev1.RouteIngress{ingressOf("default", "a.example.com", unknown,
				routev1.RouteIngressCondition{Type: unservable, Status: corev1.ConditionTrue},
				condition(corev1.ConditionTrue, "", "", &earlier))},
			want: admitted,
			result: []routev1.RouteIngress{ingressOf("default", "a.example.com", unknown,
				condition(corev1.ConditionTrue, "", "", &earlier))},
			differs: true,
		},
		{
			name:    "entry without conditions",
			current: []routev1.RouteIngress{ingressOf("default", "a.example.com")}, want: admitted,
			result: []routev1.RouteIngress{admittedAt(later)}, differs: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := deepCopy(test.current)
			result, differs := withEntry(test.current, test.want, later)
			if differs != test.differs {
				t.Errorf("differs = %v, want %v", differs, test.differs)
			}
			if diff := cmp.Diff(test.result, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.current); diff != "" {
				t.Errorf("the stored object was changed:\n%s", diff)
			}
			if again, differs := withEntry(result, test.want, later); differs {
				t.Errorf("a second time it still differs: %v", again)
			}
		})
	}
}

func TestWithoutEntry(t *testing.T) {
	t.Parallel()
	ours, other := ingressOf("default", "a"), ingressOf("shard", "a")
	tests := []struct {
		name    string
		current []routev1.RouteIngress
		result  []routev1.RouteIngress
		differs bool
	}{
		{name: "none", current: []routev1.RouteIngress{other}, result: []routev1.RouteIngress{other}},
		{name: "one", current: []routev1.RouteIngress{ours, other}, result: []routev1.RouteIngress{other}, differs: true},
		{name: "last", current: []routev1.RouteIngress{ours}, result: []routev1.RouteIngress{}, differs: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := deepCopy(test.current)
			result, differs := withoutEntry(test.current, "default")
			if differs != test.differs || cmp.Diff(test.result, result) != "" {
				t.Errorf("got %v, %v; want %v, %v", result, differs, test.result, test.differs)
			}
			if diff := cmp.Diff(before, test.current); diff != "" {
				t.Errorf("the stored object was changed:\n%s", diff)
			}
		})
	}
}

func TestWantedEntry(t *testing.T) {
	t.Parallel()
	got := wantedEntry("default", "router-default.apps.example.com", verdict{
		Host:   "a.example.com", // a route may have "" as its wildcardPolicy, which is None
		Reason: api.ReasonHostAlreadyClaimed, Message: "taken",
	})
	want := ingressOf("default", "a.example.com", condition(corev1.ConditionFalse, "HostAlreadyClaimed", "taken", nil))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestGrave(t *testing.T) {
	t.Parallel()
	warning := api.Finding{Reason: api.ReasonNoEndpoints, Severity: api.SeverityWarning}
	failure := api.Finding{Reason: api.ReasonInvalidHost, Severity: api.SeverityError}
	got := grave([]api.Finding{{Severity: api.SeverityInfo}, warning, failure})
	if diff := cmp.Diff([]api.Finding{warning, failure}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func deepCopy(list []routev1.RouteIngress) []routev1.RouteIngress {
	return (&routev1.RouteStatus{Ingress: list}).DeepCopy().Ingress
}
