package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRouterStatus: against a cluster, the running router's own word is shown
// where it differs, because objects do not tell history.
func TestRouterStatus(t *testing.T) {
	t.Parallel()
	condition := func(router string, status corev1.ConditionStatus, reason, message string) []routev1.RouteIngress {
		return []routev1.RouteIngress{{RouterName: router, Conditions: []routev1.RouteIngressCondition{
			{Type: routev1.RouteAdmitted, Status: status, Reason: reason, Message: message},
		}}}
	}
	for _, tt := range []struct {
		name       string
		status     []routev1.RouteIngress
		note, next string
	}{
		{"same", condition("default", corev1.ConditionTrue, "", ""), "", ""},
		{"refused by HAProxy", condition("default", corev1.ConditionFalse, "RefusedByHAProxy", "too odd"), "not admitted, RefusedByHAProxy: too odd", "undo the last change"},
		{"another router", condition("blue", corev1.ConditionTrue, "", ""), "has not written a status", ""},
		{"none", nil, "has not written a status", ""},
	} {
		o := NewObjects()
		o.Add(&routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"},
			Spec:       routev1.RouteSpec{Host: "r.test", To: routev1.RouteTargetReference{Name: "s"}},
			Status:     routev1.RouteStatus{Ingress: tt.status},
		})
		o.Gaps = []Gap{{Kind: "Service", Why: "you have no right to"}, {Kind: "EndpointSlice", Why: "you have no right to"}}
		w, err := NewSnapshot(o, Options{Now: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRequest(RequestArgs{URL: "http://r.test/"})
		if err != nil {
			t.Fatal(err)
		}
		e := w.Explain(r)
		if !e.Served || e.EndpointsKnown || len(e.Findings) > 0 {
			t.Errorf("%s: what could not be read counts as missing: %+v", tt.name, e)
		}
		said := slices.ContainsFunc(e.Notes, func(n string) bool { return strings.Contains(n, "router default") && strings.Contains(n, tt.note) })
		if said != (tt.note != "") {
			t.Errorf("%s: notes %v", tt.name, e.Notes)
		}
		if !strings.Contains(strings.Join(e.Next, "\n"), tt.next) || tt.next == "" && len(e.Next) > 0 {
			t.Errorf("%s: next %v", tt.name, e.Next)
		}
		y, err := w.Why("route", "a", "r")
		if err != nil || !strings.Contains(strings.Join(y.Next, "\n"), tt.next) {
			t.Errorf("%s: why: %v, %+v", tt.name, err, y)
		}
	}
}
