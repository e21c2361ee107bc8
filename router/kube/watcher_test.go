package kube

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// TestWatcher runs against a real API server. The parts use their own
// namespaces and router names; the order matters where it is said.
func TestWatcher(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	// First, because the CRD of IngressControllers must not exist yet.
	t.Run("ingress controller appears later", e.testControllerAppears)
	t.Run("refused settings", e.testRefused)
	t.Run("changes mark keys", e.testChanges)
	t.Run("a start", e.testStart)
	t.Run("selectors apply live", e.testSelectors)
	t.Run("invalid selector", e.testInvalidSelector)
	t.Run("secrets", e.testSecrets)
	t.Run("many secrets", e.testManySecrets)
	t.Run("config maps", e.testConfigMaps)
	// Last, because it stops the API server for a while.
	t.Run("API server is killed and returns", e.testOutage)
}

func (e *env) testControllerAppears(t *testing.T) {
	e.namespace(t, "operator", nil)
	e.namespace(t, "appear", nil)
	e.route(t, "appear", "web", nil)
	w, _ := e.watcher(t, Options{RouterName: "late", ControllerNamespace: "operator"})
	if !w.Take().All {
		t.Error("the first changes do not ask for everything")
	}
	web := model.Object{Kind: route.Kind, Namespace: "appear", Name: "web"}
	if w.IngressController() != nil || w.Route(web) == nil {
		t.Errorf("without an IngressController: got %v, route %v", w.IngressController(), w.Route(web))
	}
	e.installCRDs(t, "crd", "ingresscontrollers.operator.openshift.io")
	e.controller(t, "operator", "late", operatorv1.IngressControllerSpec{
		RouteSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"type": "public"}},
	})
	changesUntil(t, w, "everything to change", func(c door.Changes) bool { return c.All && w.IngressController() != nil })
	if w.Route(web) != nil || slices.Contains(w.All(), web) {
		t.Error("the route selector has no effect")
	}
	// Its status must not make work, but its spec must.
	patch(t, e.crds.operator, "ingresscontrollers", "operator", "late", "status", `{"status":{"availableReplicas":2}}`)
	eventually(t, "the status", func() bool { return w.IngressController().Status.AvailableReplicas == 2 })
	e.route(t, "appear", "sentinel", nil)
	if c := changesUntil(t, w, "the sentinel", has(model.Object{Kind: route.Kind, Namespace: "appear", Name: "sentinel"})); c.All {
		t.Error("a change of the IngressController's status made everything dirty")
	}
	patch(t, e.crds.operator, "ingresscontrollers", "operator", "late", "", `{"spec":{"routeSelector":null}}`)
	changesUntil(t, w, "everything to change", all)
	if w.Route(web) == nil {
		t.Error("the route is not selected although the selector is gone")
	}
}

func (e *env) testChanges(t *testing.T) {
	e.namespace(t, "changes", nil)
	w, _ := e.watcher(t, Options{})
	w.Take()
	web := model.Object{Kind: route.Kind, Namespace: "changes", Name: "web"}

	e.route(t, web.Namespace, web.Name, nil)
	changesUntil(t, w, "the new route", has(web))
	stored := w.Route(web)
	if stored == nil || stored.Spec.Host != "web.changes.example.com" || stored.ManagedFields != nil {
		t.Fatalf("stored route is %+v", stored)
	}
	e.patchRoute(t, web.Namespace, web.Name, "", `{"spec":{"path":"/a"}}`)
	changesUntil(t, w, "the changed spec", has(web))
	e.patchRoute(t, web.Namespace, web.Name, "", `{"metadata":{"annotations":{"a":"b"}}}`)
	changesUntil(t, w, "the annotation", has(web))

	e.patchRoute(t, web.Namespace, web.Name, "status", `{"status":{"ingress":[{"routerName":"other","host":"a"}]}}`)
	eventually(t, "the status", func() bool { return len(w.Route(web).Status.Ingress) == 1 })
	sentinel := model.Object{Kind: route.Kind, Namespace: "changes", Name: "sentinel"}
	e.route(t, sentinel.Namespace, sentinel.Name, nil)
	if c := changesUntil(t, w, "the sentinel", has(sentinel)); has(web)(c) {
		t.Error("a change of the status made the route dirty")
	}

	e.testServices(t, w, web.Namespace, web.Name)

	e.deleteRoute(t, web.Namespace, web.Name)
	changesUntil(t, w, "the deletion", has(web))
	if w.Route(web) != nil {
		t.Error("the deleted route is still there")
	}
}

func (e *env) testServices(t *testing.T, w *Watcher, namespace, name string) {
	web := model.Object{Kind: door.KindService, Namespace: namespace, Name: name}
	ctx := t.Context()
	_, err := e.core.CoreV1().Services(web.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: web.Name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the new service", has(web))
	port, portName := int32(8080), "http"
	slices := e.core.DiscoveryV1().EndpointSlices(web.Namespace)
	made, err := slices.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: web.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the endpoints", has(web))
	if got := w.Slices(web); len(got) != 1 || !got[0].Equal(backend.NewSlice(made)) {
		t.Errorf("slices are %+v", got)
	}
	if w.Service(web) == nil {
		t.Error("the service is not there")
	}
	made.Endpoints = append(made.Endpoints, discoveryv1.Endpoint{Addresses: []string{"198.18.0.2"}})
	if _, err := slices.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "another endpoint", has(web))
	if err := slices.Delete(ctx, "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "no endpoints", has(web))
	if got := w.Slices(web); len(got) != 0 {
		t.Errorf("slices are %+v", got)
	}
}

func (e *env) testSelectors(t *testing.T) {
	e.namespace(t, "select-a", map[string]string{"stage": "prod"})
	e.namespace(t, "select-b", nil)
	public := map[string]string{"type": "public"}
	e.route(t, "select-a", "web", public)
	e.route(t, "select-a", "admin", nil)
	e.route(t, "select-b", "web", public)
	a, b := model.Object{Kind: route.Kind, Namespace: "select-a", Name: "web"}, model.Object{Kind: route.Kind, Namespace: "select-b", Name: "web"}
	e.controller(t, "operator", "shard", operatorv1.IngressControllerSpec{
		RouteSelector:     &metav1.LabelSelector{MatchLabels: public},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "prod"}},
	})
	w, _ := e.watcher(t, Options{RouterName: "shard", ControllerNamespace: "operator"})
	w.Take()
	wantRoutes(t, w, a)

	// A namespace starts and stops to match.
	patch(t, e.core.CoreV1().RESTClient(), "namespaces", "", "select-b", "", `{"metadata":{"labels":{"stage":"prod"}}}`)
	changesUntil(t, w, "the routes of the namespace", has(b))
	wantRoutes(t, w, a, b)
	patch(t, e.core.CoreV1().RESTClient(), "namespaces", "", "select-a", "", `{"metadata":{"labels":{"stage":"test"}}}`)
	changesUntil(t, w, "the routes of the other namespace", has(a))
	wantRoutes(t, w, b)
	// A route stops and starts to match.
	e.patchRoute(t, b.Namespace, b.Name, "", `{"metadata":{"labels":{"type":"private"}}}`)
	changesUntil(t, w, "the route to leave", has(b))
	wantRoutes(t, w)
	e.patchRoute(t, b.Namespace, b.Name, "", `{"metadata":{"labels":{"type":"public"}}}`)
	changesUntil(t, w, "the route to return", has(b))
	wantRoutes(t, w, b)
	// The selectors change, go away and come back.
	edit := func(spec string) {
		t.Helper()
		patch(t, e.crds.operator, "ingresscontrollers", "operator", "shard", "", `{"spec":`+spec+`}`)
		changesUntil(t, w, "everything to change", all)
	}
	edit(`{"namespaceSelector":{"matchLabels":{"stage":"test"}}}`)
	wantRoutes(t, w, a)
	edit(`{"namespaceSelector":null}`)
	wantRoutes(t, w, a, b)
	edit(`{"namespaceSelector":{"matchLabels":{"stage":"prod"}}}`)
	eventually(t, "the namespaces to be read again", func() bool { return len(w.All()) == 1 })
	wantRoutes(t, w, b)
}

func wantRoutes(t *testing.T, w *Watcher, want ...model.Object) {
	t.Helper()
	got := w.All()
	compare := func(a, b model.Object) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(got, compare)
	slices.SortFunc(want, compare)
	if !slices.Equal(got, want) {
		t.Errorf("routes are %v, want %v", got, want)
	}
}

func (e *env) testInvalidSelector(t *testing.T) {
	e.controller(t, "operator", "invalid", operatorv1.IngressControllerSpec{
		RouteSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
	})
	w, _ := e.watcher(t, Options{RouterName: "invalid", ControllerNamespace: "operator"})
	if got := w.All(); len(got) != 0 {
		t.Errorf("an invalid selector selects %v", got)
	}
	w.Take()
	patch(t, e.crds.operator, "ingresscontrollers", "operator", "invalid", "", `{"spec":{"routeSelector":null}}`)
	changesUntil(t, w, "everything to change", all)
	if len(w.All()) == 0 {
		t.Error("the corrected selector has no effect")
	}
	patch(t, e.crds.operator, "ingresscontrollers", "operator", "invalid", "",
		`{"spec":{"routeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}}`)
	changesUntil(t, w, "everything to change", all)
	if len(w.All()) == 0 {
		t.Error("a selector that became invalid replaced the last valid one")
	}
}

// testRefused has a router start beside settings that are refused, and be
// given others while it runs.
func (e *env) testRefused(t *testing.T) {
	spec := func(seconds time.Duration, patterns ...string) operatorv1.IngressControllerSpec {
		s := operatorv1.IngressControllerSpec{}
		s.TuningOptions.ServerTimeout = &metav1.Duration{Duration: seconds * time.Second}
		s.ClientTLS.AllowedSubjectPatterns = patterns
		s.ClientTLS.ClientCertificatePolicy, s.ClientTLS.ClientCA.Name = "Optional", "ca"
		return s
	}
	e.controller(t, "operator", "refused", spec(9, "("))
	stored := spec(7)
	accepted := make(chan time.Duration, 10)
	w, _ := e.watcher(t, Options{
		RouterName: "refused", ControllerNamespace: "operator", Admitted: func() *operatorv1.IngressControllerSpec { return &stored },
		Accepted: func(s *operatorv1.IngressControllerSpec) { accepted <- s.TuningOptions.ServerTimeout.Duration },
	})
	holds := func(seconds time.Duration, findings int) func() bool {
		return func() bool {
			have := w.IngressController()
			return have != nil && have.Spec.TuningOptions.ServerTimeout.Duration == seconds*time.Second && len(w.Refused()) == findings
		}
	}
	eventually(t, "the settings that were admitted last to hold", holds(7, 1))
	if got := w.Refused()[0]; got.Field != "spec.clientTLS.allowedSubjectPatterns[0]" || !strings.Contains(got.Effect, "admitted last stay") {
		t.Errorf("finding is %v", got)
	}
	w.Take()
	for _, step := range []struct {
		edit     string
		holds    time.Duration
		findings int
	}{
		{`{"spec":{"tuningOptions":{"serverTimeout":"11s"},"clientTLS":{"allowedSubjectPatterns":["x"]}}}`, 11, 0},
		{`{"spec":{"tuningOptions":{"serverTimeout":"12s"},"routeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}}`, 11, 1},
		{`{"spec":{"tuningOptions":{"serverTimeout":"13s"}}}`, 11, 1},
		{`{"spec":{"routeSelector":null}}`, 13, 0},
	} {
		patch(t, e.crds.operator, "ingresscontrollers", "operator", "refused", "", step.edit)
		changesUntil(t, w, "everything to change", all)
		if !holds(step.holds, step.findings)() {
			t.Errorf("after %s: %v, %v", step.edit, w.IngressController().Spec.TuningOptions, w.Refused())
		}
	}
	for _, want := range []time.Duration{11 * time.Second, 13 * time.Second} {
		if got := <-accepted; got != want {
			t.Errorf("settings with %s were kept, want those with %s", got, want)
		}
	}
	if len(accepted) > 0 {
		t.Errorf("settings with %s were kept as well", <-accepted)
	}
}

func (e *env) testSecrets(t *testing.T) {
	ctx := t.Context()
	e.namespace(t, "secrets", nil)
	// A router that may watch all but Secrets, and one Secret only.
	e.allow(t, "secrets", "router", "mine")
	w, _ := e.watcher(t, Options{Config: e.as("router")})
	w.Take()
	mine, foreign := model.Object{Kind: door.KindSecret, Namespace: "secrets", Name: "mine"}, model.Object{Kind: door.KindSecret, Namespace: "secrets", Name: "foreign"}
	if _, err := w.Secret(mine); !pending(err) {
		t.Errorf("a secret that was not asked for: %v", err)
	}
	w.Need(model.Objects{mine: {}, foreign: {}})
	if !w.WaitForNeeded(ctx) {
		t.Fatal("no answer about the secrets")
	}
	changesUntil(t, w, "the first answers", func(c door.Changes) bool { return has(mine)(c) && has(foreign)(c) })
	if _, err := w.Secret(mine); err == nil || pending(err) || !strings.Contains(err.Error(), `"mine" does not exist`) {
		t.Errorf("a missing secret: %v", err)
	}
	if _, err := w.Secret(foreign); err == nil || pending(err) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("a forbidden secret: %v", err)
	}

	secrets := e.core.CoreV1().Secrets("secrets")
	made, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Data: map[string][]byte{"a": []byte("1")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the new secret", has(mine))
	made.Data["a"] = []byte("2")
	if _, err := secrets.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the rotated secret", has(mine))
	if got, err := w.Secret(mine); err != nil || string(got.Data["a"]) != "2" {
		t.Errorf("the rotated secret is %v, %v", got, err)
	}
	if err := secrets.Delete(ctx, "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the deleted secret", has(mine))
	if got, err := w.Secret(mine); got != nil || err == nil {
		t.Errorf("the deleted secret is %v, %v", got, err)
	}
	// The right is granted later.
	e.grantSecret(t, "secrets", "router", "foreign")
	changesUntil(t, w, "the right", has(foreign))
	if _, err := w.Secret(foreign); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the granted secret: %v", err)
	}
	// A router that starts has read the Secrets that routes name.
	e.route(t, "secrets", "external", nil)
	e.patchRoute(t, "secrets", "external", "", `{"spec":{"tls":{"termination":"edge","externalCertificate":{"name":"mine"}}}}`)
	again, _ := e.watcher(t, Options{Config: e.as("router")})
	if _, err := again.Secret(mine); err == nil || pending(err) {
		t.Errorf("the first state of a named secret: %v", err)
	}
	w.Need(nil)
	if _, err := w.Secret(foreign); !pending(err) {
		t.Errorf("a secret that is not needed any more: %v", err)
	}
}

// testConfigMaps: those that routes name are watched, each version read once.
func (e *env) testConfigMaps(t *testing.T) {
	ctx := t.Context()
	e.namespace(t, "pages", nil)
	w, _ := e.watcher(t, Options{})
	w.Take()
	key := model.Object{Kind: door.KindConfigMap, Namespace: "pages", Name: "site"}
	if _, err := w.ConfigMap(key); !pending(err) {
		t.Errorf("a ConfigMap that was not asked for: %v", err)
	}
	w.Need(model.Objects{key: {}})
	if !w.WaitForNeeded(ctx) {
		t.Fatal("no answer about the ConfigMap")
	}
	changesUntil(t, w, "the first answer", has(key))
	if _, err := w.ConfigMap(key); err == nil || pending(err) || !strings.Contains(err.Error(), `ConfigMap "site" does not exist`) {
		t.Errorf("a missing ConfigMap: %v", err)
	}
	maps := e.core.CoreV1().ConfigMaps("pages")
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "site"}, Data: map[string]string{"404.html": "one"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the new ConfigMap", has(key))
	before, err := w.ConfigMap(key)
	if err != nil {
		t.Fatal(err)
	}
	made.Data["404.html"] = "two"
	if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the changed ConfigMap", has(key))
	if after, err := w.ConfigMap(key); err != nil || after.Equal(before) {
		t.Errorf("the changed ConfigMap is %v, %v", after, err)
	}
	if err := maps.Delete(ctx, "site", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the deleted ConfigMap", has(key))
	if _, err := w.ConfigMap(key); err == nil || pending(err) {
		t.Errorf("the deleted ConfigMap: %v", err)
	}
	w.Need(nil)
	if _, err := w.ConfigMap(key); !pending(err) {
		t.Errorf("a ConfigMap that is not needed any more: %v", err)
	}
}

// testManySecrets: those that a namespace has too many of to watch each are read
// all the same, and take no goroutine each.
func (e *env) testManySecrets(t *testing.T) {
	ctx := t.Context()
	e.namespace(t, "many", nil)
	e.allow(t, "many", "router-many", "late")
	w, _ := e.watcher(t, Options{Config: e.as("router-many")})
	w.Take()
	named := func(n int) model.Objects {
		keys := model.Objects{}
		for i := range n {
			keys[model.Object{Kind: door.KindSecret, Namespace: "many", Name: fmt.Sprint("s", i)}] = struct{}{}
		}
		return keys
	}
	w.Need(named(maxWatched))
	watching := runtime.NumGoroutine()
	keys, late, refused := named(maxWatched+500), model.Object{Kind: door.KindSecret, Namespace: "many", Name: "late"}, model.Object{Kind: door.KindSecret, Namespace: "many", Name: "s201"}
	keys[late] = struct{}{}
	w.Need(keys)
	if !w.WaitForNeeded(ctx) {
		t.Fatal("no answer about the secrets")
	}
	if more := runtime.NumGoroutine() - watching; more > 200 {
		t.Errorf("500 more secrets take %d goroutines", more)
	}
	if _, err := w.Secret(refused); err == nil || pending(err) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("a forbidden secret: %v", err)
	}
	// Fewer, so that a turn comes soon.
	keys = named(maxWatched + 5)
	keys[late] = struct{}{}
	w.Need(keys)
	w.Take()
	made, err := e.core.CoreV1().Secrets("many").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the new secret", has(late))
	made.Data = map[string][]byte{"a": []byte("2")}
	if _, err := e.core.CoreV1().Secrets("many").Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the rotated secret", has(late))
	// Where there is room, it is watched.
	w.Need(model.Objects{late: {}})
	if got, err := w.Secret(late); err != nil || string(got.Data["a"]) != "2" {
		t.Errorf("the rotated secret is %v, %v", got, err)
	}
	if err := e.core.CoreV1().Secrets("many").Delete(ctx, "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the deleted secret", has(late))
}

// pending asks as package door/route does, which does not know this package.
func pending(err error) bool {
	var e interface{ Pending() bool }
	return errors.As(err, &e) && e.Pending()
}

// allow gives a user what a router needs, and one Secret.
func (e *env) allow(t *testing.T, namespace, user, secret string) {
	t.Helper()
	watch := []string{"get", "list", "watch"}
	_, err := e.core.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services", "namespaces"}, Verbs: watch},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: watch},
			{APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes"}, Verbs: watch},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.core.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.grantSecret(t, namespace, user, secret)
}

// grantSecret lets a user read one Secret, as the documentation tells owners of
// routes to do.
func (e *env) grantSecret(t *testing.T, namespace, user, secret string) {
	t.Helper()
	_, err := e.core.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read-" + secret},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret},
			Verbs: []string{"get", "list", "watch"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.core.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read-" + secret},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read-" + secret},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) testOutage(t *testing.T) {
	e.namespace(t, "outage", nil)
	e.route(t, "outage", "web", nil)
	web := model.Object{Kind: route.Kind, Namespace: "outage", Name: "web"}
	w, _ := e.watcher(t, Options{ControllerNamespace: "operator", RouterName: "late"})
	w.Take()
	before := len(w.All())
	controller := w.IngressController()
	if err := e.server.Kill(); err != nil {
		t.Fatal(err)
	}
	// Let the watches notice: all of them retry after that.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	<-ctx.Done()
	if len(w.All()) != before || w.Route(web) == nil || w.IngressController() != controller {
		t.Error("the last state got lost with the API server")
	}
	if err := e.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	e.patchRoute(t, "outage", "web", "", `{"spec":{"path":"/after"}}`)
	c := changesUntil(t, w, "the change after the outage", func(door.Changes) bool {
		return w.Route(web) != nil && w.Route(web).Spec.Path == "/after"
	})
	t.Logf("noticed %v after the return", time.Since(back).Round(time.Millisecond))
	delete(c.Objects, web)
	if c.All || len(c.Objects) != 0 || len(w.All()) != before {
		t.Errorf("an outage alone makes work: %+v", c)
	}
}
