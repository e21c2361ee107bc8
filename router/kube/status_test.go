package kube

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// TestStatusWriter runs against a real API server. Each part has its own
// namespace and router name, so that no part writes the routes of another.
func TestStatusWriter(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.installCRDs(t, "crd", "ingresscontrollers.operator.openshift.io")
	e.namespace(t, "routers", nil)
	t.Run("writes make no work", e.testWrites)
	t.Run("one of two replicas writes", e.testReplicas)
	t.Run("restart writes nothing", e.testRestart)
	t.Run("routes that leave", e.testLeave)
	t.Run("repairs", e.testRepair)
	t.Run("a route that changes without end", e.testPace)
	t.Run("events", e.testEvents)
	t.Run("no namespace for the lease", e.testNoNamespace)
	t.Run("forbidden", e.testForbidden)
	t.Run("rights of the router's service account", e.testServiceAccount)
	// Last, because it stops the API server for a while.
	t.Run("API server is killed and returns", e.testStatusOutage)
}

// writer runs a Watcher and a StatusWriter for its routes.
func (e *env) writer(t *testing.T, o Options, namespace string) (*Watcher, *StatusWriter, func()) {
	t.Helper()
	w, stopWatcher := e.watcher(t, o)
	s, err := NewStatusWriter(StatusOptions{
		Watcher: w, CanonicalHostname: "router-" + o.RouterName + ".apps.example.com",
		LeaseNamespace: namespace, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.lease = leaseTimes{2 * time.Second, time.Second, 100 * time.Millisecond}
	stopWriter := background(t, s.Run)
	stop := func() { stopWriter(); stopWatcher() }
	t.Cleanup(stop)
	return w, s, stop
}

func statusOf(r *routev1.Route, admitted bool, findings ...api.Finding) model.RouteStatus {
	status := model.RouteStatus{
		Object: keyOf(route.Kind, r), UID: string(r.UID), Host: r.Spec.Host, WildcardPolicy: "None", Admitted: admitted, Findings: findings,
	}
	if !admitted {
		status.Reason, status.Message = api.ReasonHostAlreadyClaimed, "taken"
	}
	return status
}

// entry returns what stands in a route's status about a router.
func (e *env) entry(t *testing.T, r *routev1.Route, router string) *routev1.RouteIngress {
	t.Helper()
	for _, i := range e.readRoute(t, r.Namespace, r.Name).Status.Ingress {
		if i.RouterName == router {
			return &i
		}
	}
	return nil
}

// admitted returns the status of the condition, or "" if there is none.
func (e *env) admitted(t *testing.T, r *routev1.Route, router string) corev1.ConditionStatus {
	t.Helper()
	entry := e.entry(t, r, router)
	if entry == nil || len(entry.Conditions) == 0 {
		return ""
	}
	return entry.Conditions[0].Status
}

func (e *env) wantAdmitted(t *testing.T, r *routev1.Route, router string, want corev1.ConditionStatus) {
	t.Helper()
	eventually(t, "Admitted="+string(want)+" of "+r.Name, func() bool { return e.admitted(t, r, router) == want })
}

// idle waits until a writer has nothing left to do.
func idle(t *testing.T, s *StatusWriter) {
	t.Helper()
	eventually(t, "the writer to lead and be idle", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.queue == nil || s.queue.Len() > 0 {
			return false
		}
		for key, d := range s.desired {
			if (d.urgent || !d.judged) && s.watcher.routes.get(key) != nil {
				return false
			}
		}
		return true
	})
}

func (e *env) testWrites(t *testing.T) {
	e.namespace(t, "writes", nil)
	r := e.route(t, "writes", "web", nil)
	w, s, _ := e.writer(t, Options{RouterName: "writes"}, "routers")
	w.Take()
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	e.wantAdmitted(t, r, "writes", corev1.ConditionTrue)
	first := e.entry(t, r, "writes")
	if first.Host != r.Spec.Host || first.RouterCanonicalHostname != "router-writes.apps.example.com" {
		t.Errorf("entry is %+v", first)
	}
	for range 3 {
		s.Publish([]model.RouteStatus{statusOf(r, true)})
	}
	s.Publish([]model.RouteStatus{statusOf(r, false)})
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	s.Publish([]model.RouteStatus{statusOf(r, false)})
	e.wantAdmitted(t, r, "writes", corev1.ConditionFalse)
	entry := e.entry(t, r, "writes")
	if entry.Conditions[0].Reason != string(api.ReasonHostAlreadyClaimed) || entry.Conditions[0].Message != "taken" {
		t.Errorf("condition is %+v", entry.Conditions[0])
	}
	// The writes came back through the watch, but made no work.
	sentinel := e.route(t, "writes", "sentinel", nil)
	if c := changesUntil(t, w, "the sentinel", has(keyOf(route.Kind, sentinel))); has(keyOf(route.Kind, r))(c) {
		t.Error("the router's own status writes made the route dirty")
	}
	if got := e.readRoute(t, "writes", "web"); got.Spec.To.Name != "web" || got.Spec.Host != r.Spec.Host {
		t.Errorf("the status write changed the spec: %+v", got.Spec)
	}
}

func (e *env) testReplicas(t *testing.T) {
	e.namespace(t, "replicas", nil)
	routes := []*routev1.Route{e.route(t, "replicas", "a", nil), e.route(t, "replicas", "b", nil), e.route(t, "replicas", "c", nil)}
	var statuses []model.RouteStatus
	for _, r := range routes {
		statuses = append(statuses, statusOf(r, true))
	}
	_, first, stop := e.writer(t, Options{RouterName: "replicas"}, "routers")
	eventually(t, "the first replica to be elected", func() bool { return first.Stats().Leading })
	_, second, _ := e.writer(t, Options{RouterName: "replicas"}, "routers")
	second.Publish(statuses)
	first.Publish(statuses)
	for _, r := range routes {
		e.wantAdmitted(t, r, "replicas", corev1.ConditionTrue)
	}
	idle(t, first)
	if a, b := first.Stats(), second.Stats(); a.Writes != 3 || b.Writes != 0 || b.Leading {
		t.Errorf("the elected replica: %+v, the other one: %+v", a, b)
	}
	stop()
	idle(t, second)
	if got := second.Stats(); got.Writes != 0 || got.Conflicts != 0 {
		t.Errorf("the replica that took over wrote what was there already: %+v", got)
	}
	second.Publish([]model.RouteStatus{statusOf(routes[1], false)})
	e.wantAdmitted(t, routes[1], "replicas", corev1.ConditionFalse)
	idle(t, second)
	if got := second.Stats().Writes; got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
}

func (e *env) testRestart(t *testing.T) {
	e.namespace(t, "restart", nil)
	warning := api.Finding{Reason: api.ReasonServiceNotFound, Message: "service not found", Severity: api.SeverityWarning}
	r := e.route(t, "restart", "web", nil)
	_, s, stop := e.writer(t, Options{RouterName: "restart"}, "routers")
	s.Publish([]model.RouteStatus{statusOf(r, true, warning)})
	e.wantAdmitted(t, r, "restart", corev1.ConditionTrue)
	eventually(t, "the event", func() bool { return s.Stats().Events == 1 })
	stop()
	_, s, _ = e.writer(t, Options{RouterName: "restart"}, "routers")
	s.Publish([]model.RouteStatus{statusOf(r, true, warning)})
	idle(t, s)
	if got := s.Stats(); got.Writes != 0 || got.Events != 0 || got.Errors != 0 {
		t.Errorf("after a restart: %+v", got)
	}
}

func (e *env) testLeave(t *testing.T) {
	e.namespace(t, "leave", nil)
	public := map[string]string{"shard": "leave"}
	e.controller(t, "leave", "leave", operatorv1.IngressControllerSpec{RouteSelector: &metav1.LabelSelector{MatchLabels: public}})
	leaves, stays := e.route(t, "leave", "leaves", public), e.route(t, "leave", "stays", public)
	goes := e.route(t, "leave", "goes", public)
	o := Options{RouterName: "leave", ControllerNamespace: "leave"}
	w, s, stop := e.writer(t, o, "routers")
	s.Publish([]model.RouteStatus{statusOf(leaves, true), statusOf(stays, true), statusOf(goes, true)})
	for _, r := range []*routev1.Route{leaves, stays, goes} {
		e.wantAdmitted(t, r, "leave", corev1.ConditionTrue)
	}
	e.patchRoute(t, "leave", "leaves", "status", `{"status":{"ingress":[{"routerName":"leave","host":"a"},{"routerName":"other","host":"a"}]}}`)
	e.patchRoute(t, "leave", "leaves", "", `{"metadata":{"labels":{"shard":"other"}}}`)
	e.deleteRoute(t, "leave", "goes")
	eventually(t, "the routes to be gone", func() bool {
		return w.Route(keyOf(route.Kind, leaves)) == nil && w.Route(keyOf(route.Kind, goes)) == nil
	})
	s.Forget([]model.Object{keyOf(route.Kind, leaves), keyOf(route.Kind, goes)})
	eventually(t, "the entry to be removed", func() bool { return e.entry(t, leaves, "leave") == nil })
	if e.entry(t, leaves, "other") == nil {
		t.Error("the entry of another router is gone")
	}
	// Another one leaves while no router runs.
	stop()
	e.patchRoute(t, "leave", "stays", "", `{"metadata":{"labels":{"shard":"other"}}}`)
	e.writer(t, o, "routers")
	eventually(t, "the stale entry to be removed", func() bool { return e.entry(t, stays, "leave") == nil })
}

func (e *env) testRepair(t *testing.T) {
	e.namespace(t, "repair", nil)
	r := e.route(t, "repair", "web", nil)
	_, s, stop := e.writer(t, Options{RouterName: "repair"}, "routers")
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	e.wantAdmitted(t, r, "repair", corev1.ConditionTrue)
	idle(t, s)
	// What another program changes in the entry is put right, at once.
	leftover := `{"status":{"ingress":[{"routerName":"repair","host":"forged.example.com","conditions":[` +
		`{"type":"Admitted","status":"True"},{"type":"UnservableInFutureVersions","status":"True"}]}]}}`
	e.patchRoute(t, "repair", "web", "status", leftover)
	eventually(t, "the repair", func() bool {
		got := e.entry(t, r, "repair")
		return got != nil && got.Host == r.Spec.Host && len(got.Conditions) == 1
	})
	idle(t, s)
	// Somebody with the same name goes on having another opinion: no fight.
	e.patchRoute(t, "repair", "web", "status", `{"status":{"ingress":[]}}`)
	e.patchRoute(t, "repair", "web", "", `{"spec":{"path":"/a"}}`)
	eventually(t, "the change", func() bool { return s.watcher.Route(keyOf(route.Kind, r)).Spec.Path == "/a" })
	if got := s.Stats().Writes; got != 2 {
		t.Errorf("%d writes within a minute, want 2", got)
	}
	// A new opinion is not held back.
	s.Publish([]model.RouteStatus{statusOf(r, false)})
	e.wantAdmitted(t, r, "repair", corev1.ConditionFalse)
	stop()
	// And a writer that has not written yet repairs at once.
	e.patchRoute(t, "repair", "web", "status", `{"status":{"ingress":[]}}`)
	_, s, _ = e.writer(t, Options{RouterName: "repair"}, "routers")
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	e.wantAdmitted(t, r, "repair", corev1.ConditionTrue)
	// The opinion about a route of the same name that is gone does not count.
	e.deleteRoute(t, "repair", "web")
	again := e.route(t, "repair", "web", nil)
	eventually(t, "the new route", func() bool {
		stored := s.watcher.Route(keyOf(route.Kind, again))
		return stored != nil && stored.UID == again.UID
	})
	s.Publish([]model.RouteStatus{statusOf(r, false)})
	idleQueue(t, s)
	if got := e.entry(t, again, "repair"); got != nil {
		t.Errorf("the new route got the old one's status: %+v", got)
	}
}

func idleQueue(t *testing.T, s *StatusWriter) {
	t.Helper()
	eventually(t, "an empty queue", func() bool { return s.Stats().Queued == 0 })
}

func (e *env) testEvents(t *testing.T) {
	e.namespace(t, "events", nil)
	r := e.route(t, "events", "web", nil)
	_, s, _ := e.writer(t, Options{RouterName: "events"}, "routers")
	missing := api.Finding{
		Field: "spec.to", Reason: api.ReasonServiceNotFound, Message: `service "web" does not exist`,
		Severity: api.SeverityWarning, Effect: "requests get a 503 page",
	}
	hint := api.Finding{Reason: api.ReasonAmbiguousPort, Message: "no port named", Severity: api.SeverityInfo}
	s.Publish([]model.RouteStatus{statusOf(r, true, missing, hint)})
	var described string
	eventually(t, "the event in kubectl describe", func() bool {
		out, err := e.server.Kubectl(t.Context(), "describe", "route", "web", "-n", "events")
		if err != nil {
			t.Fatal(err)
		}
		described = out
		return strings.Contains(out, missing.Text())
	})
	if !strings.Contains(described, string(api.ReasonServiceNotFound)) || !strings.Contains(described, "router-events") ||
		strings.Contains(described, hint.Message) {
		t.Errorf("kubectl describe says:\n%s", described)
	}
	// The same findings make no event again, nor does their end.
	s.Publish([]model.RouteStatus{statusOf(r, false, missing)})
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	e.wantAdmitted(t, r, "events", corev1.ConditionTrue)
	idle(t, s)
	if got := s.Stats().Events; got != 1 {
		t.Errorf("%d events, want 1", got)
	}
	s.Publish([]model.RouteStatus{statusOf(r, true, missing)})
	eventually(t, "the finding that returned", func() bool { return s.Stats().Events == 2 })
}

func (e *env) testNoNamespace(t *testing.T) {
	e.namespace(t, "alone", nil)
	r := e.route(t, "alone", "web", nil)
	for _, namespace := range []string{"", "does-not-exist"} {
		_, s, stop := e.writer(t, Options{RouterName: "alone"}, namespace)
		s.Publish([]model.RouteStatus{statusOf(r, namespace == "")})
		want := corev1.ConditionFalse
		if namespace == "" {
			want = corev1.ConditionTrue
		}
		e.wantAdmitted(t, r, "alone", want)
		stop()
	}
}

func (e *env) testForbidden(t *testing.T) {
	e.namespace(t, "forbidden", nil)
	e.allow(t, "forbidden", "reader", "none")
	r := e.route(t, "forbidden", "web", nil)
	o := Options{RouterName: "forbidden", Config: e.as("reader")}
	_, s, _ := e.writer(t, o, "")
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	eventually(t, "the refusal", func() bool { return s.Stats().Errors == 1 })
	if got := e.entry(t, r, "forbidden"); got != nil {
		t.Errorf("entry is %+v", got)
	}
}

// testServiceAccount runs with no more rights than config/rbac gives.
func (e *env) testServiceAccount(t *testing.T) {
	const operand, operator = "openshift-ingress", "openshift-ingress-operator"
	for _, namespace := range []string{operand, operator, "rights"} {
		e.namespace(t, namespace, nil)
	}
	if err := e.server.Apply(t.Context(), filepath.Join("..", "..", "config", "rbac", "router.yaml")); err != nil {
		t.Fatal(err)
	}
	e.controller(t, operator, "rights", operatorv1.IngressControllerSpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "rights"}},
	})
	r := e.route(t, "rights", "web", nil)
	account := e.as("system:serviceaccount:" + operand + ":router")
	w, s, _ := e.writer(t, Options{RouterName: "rights", ControllerNamespace: operator, Config: account}, operand)
	wantRoutes(t, w, keyOf(route.Kind, r))
	missing := api.Finding{Reason: api.ReasonServiceNotFound, Message: "no service", Severity: api.SeverityWarning}
	s.Publish([]model.RouteStatus{statusOf(r, true, missing)})
	e.wantAdmitted(t, r, "rights", corev1.ConditionTrue)
	eventually(t, "the event", func() bool {
		list, err := e.core.CoreV1().Events("rights").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1
	})
	lease, err := e.core.CoordinationV1().Leases(operand).Get(t.Context(), "router-rights-status", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != s.identity {
		t.Errorf("the lease is %+v, %v", lease, err)
	}
	for range 2 { // makes it, and changes it
		if err := s.annotate(t.Context(), map[string]any{replicaPrefix + "web": "+"}); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "what others say", func() bool { return s.spoken() != nil })
	e.testSettings(t, s, operator)
}

func (e *env) testStatusOutage(t *testing.T) {
	e.namespace(t, "outage", nil)
	r := e.route(t, "outage", "web", nil)
	_, s, _ := e.writer(t, Options{RouterName: "outage"}, "routers")
	s.Publish([]model.RouteStatus{statusOf(r, true)})
	e.wantAdmitted(t, r, "outage", corev1.ConditionTrue)
	if err := e.server.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Publish([]model.RouteStatus{statusOf(r, false)})
	eventually(t, "the writer to stop", func() bool { return !s.Stats().Leading })
	if err := e.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.wantAdmitted(t, r, "outage", corev1.ConditionFalse)
}
