package canary

import (
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestCanaryObjects: what others change is put right, and what the API server
// adds is none of it.
func TestCanaryObjects(t *testing.T) {
	t.Parallel()
	desired := DesiredDaemonSet("operator:1")
	live := desired.DeepCopy()
	live.Spec.RevisionHistoryLimit = new(int32(10))
	live.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	if _, changed := changedDaemonSet(live, desired); changed {
		t.Error("defaults of the API server count as a change")
	}
	for name, edit := range map[string]func(*appsv1.DaemonSet){
		"image":      func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = "evil" },
		"privileged": func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].SecurityContext.Privileged = new(true) },
		"volume": func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes, corev1.Volume{Name: "x"})
		},
	} {
		live := desired.DeepCopy()
		edit(live)
		if updated, changed := changedDaemonSet(live, desired); !changed || updated.Spec.Template.Spec.Containers[0].Image != "operator:1" {
			t.Errorf("%s: %v", name, changed)
		}
	}
	for name, edit := range map[string]func(*routev1.Route){
		"port":       func(r *routev1.Route) { r.Spec.Port.TargetPort = intstr.FromString("8888-tcp") },
		"annotation": func(r *routev1.Route) { r.Annotations["haproxy.router.openshift.io/balance"] = "leastconn" },
		"subdomain":  func(r *routev1.Route) { r.Spec.Subdomain = "other" },
		"TLS":        func(r *routev1.Route) { r.Spec.TLS.Termination = routev1.TLSTerminationEdge },
		"backends":   func(r *routev1.Route) { r.Spec.AlternateBackends = []routev1.RouteTargetReference{{Name: "other"}} },
	} {
		live := DesiredRoute(Port1)
		edit(live)
		if _, changed := changedRoute(live, DesiredRoute(Port1)); !changed {
			t.Errorf("Route: %s stays", name)
		}
	}
	if p := desired.Spec.Template.Spec; *p.AutomountServiceAccountToken || p.Containers[0].Resources.Limits.Memory().IsZero() {
		t.Error("the canary's pods have a token, or no limit of memory")
	}
	on := DesiredRoute
	for _, tt := range []struct {
		live          *routev1.Route
		rotates, turn bool
		want          int32
	}{
		{nil, true, true, Port1},
		{on(Port1), true, false, Port1},
		{on(Port1), true, true, Port2},
		{on(Port2), true, false, Port2},
		{on(Port2), true, true, Port1},
		{on(Port2), false, false, Port1},
	} {
		if got := port(tt.live, tt.rotates, tt.turn); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
