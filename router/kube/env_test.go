package kube

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// env is a real API server with clients.
type env struct {
	server *cluster.APIServer
	config *rest.Config
	core   *kubernetes.Clientset
	crds   *clients
}

// startEnv starts an API server with the Route CRD, or skips the test if the
// programs are missing.
func startEnv(t *testing.T) *env {
	t.Helper()
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := toolset.Path(name); err != nil {
			t.Skipf("no API server to test with (make tools): %v", err)
		}
	}
	server, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := newClients(config)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{server: server, config: config, core: core, crds: crds}
	e.installCRDs(t, "crd", "routes.route.openshift.io")
	return e
}

// installCRDs makes kinds known, named PLURAL.GROUP. They are in a folder of config. One kubectl takes all: it is most of what a CRD costs.
func (e *env) installCRDs(t *testing.T, folder string, kinds ...string) {
	t.Helper()
	apply := []string{"apply", "--server-side"}
	wait := []string{"wait", "--for=condition=Established", "--timeout=20s"}
	for _, kind := range kinds {
		plural, group, _ := strings.Cut(kind, ".")
		apply = append(apply, "-f", filepath.Join("..", "..", "config", folder, group+"_"+plural+".yaml"))
		wait = append(wait, "crd/"+kind)
	}
	for _, args := range [][]string{apply, wait} {
		if _, err := e.server.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually polls until ready is true.
func eventually(t *testing.T, what string, ready func() bool) {
	t.Helper()
	wait.Poll{Every: 5 * time.Millisecond}.For(t, what, func() error { return wait.True(ready()) })
}

func (e *env) namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	_, err := e.core.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// route makes a Route.
func (e *env) route(t *testing.T, namespace, name string, labels map[string]string) *routev1.Route {
	t.Helper()
	r := &routev1.Route{
		TypeMeta:   metav1.TypeMeta{APIVersion: routev1.GroupVersion.String(), Kind: "Route"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: routev1.RouteSpec{
			Host: name + "." + namespace + ".example.com",
			To:   routev1.RouteTargetReference{Kind: "Service", Name: name},
		},
	}
	result := &routev1.Route{}
	if err := e.crds.route.Post().Namespace(namespace).Resource("routes").Body(r).Do(t.Context()).Into(result); err != nil {
		t.Fatal(err)
	}
	return result
}

func (e *env) readRoute(t *testing.T, namespace, name string) *routev1.Route {
	t.Helper()
	r := &routev1.Route{}
	if err := e.crds.route.Get().Namespace(namespace).Resource("routes").Name(name).Do(t.Context()).Into(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// patch merges a JSON document into an object; sub is "" or "status".
func patch(t *testing.T, client rest.Interface, resource, namespace, name, sub, document string) {
	t.Helper()
	request := client.Patch(types.MergePatchType).Resource(resource).Name(name).Body([]byte(document))
	if namespace != "" {
		request = request.Namespace(namespace)
	}
	if sub != "" {
		request = request.SubResource(sub)
	}
	if err := request.Do(t.Context()).Error(); err != nil {
		t.Fatalf("patch %s %s/%s: %v", resource, namespace, name, err)
	}
}

func (e *env) patchRoute(t *testing.T, namespace, name, sub, document string) {
	t.Helper()
	patch(t, e.crds.route, "routes", namespace, name, sub, document)
}

func (e *env) deleteRoute(t *testing.T, namespace, name string) {
	t.Helper()
	if err := e.crds.route.Delete().Namespace(namespace).Resource("routes").Name(name).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

func (e *env) controller(t *testing.T, namespace, name string, spec operatorv1.IngressControllerSpec) {
	t.Helper()
	c := &operatorv1.IngressController{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorv1.GroupVersion.String(), Kind: "IngressController"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       spec,
	}
	var body runtime.Object = c
	if err := e.crds.operator.Post().Namespace(namespace).Resource("ingresscontrollers").Body(body).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

// as returns the configuration of a user with fewer rights.
func (e *env) as(user string) *rest.Config {
	config := rest.CopyConfig(e.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// watcher runs a Watcher until the test ends or the returned function is called.
func (e *env) watcher(t *testing.T, o Options) (*Watcher, func()) {
	t.Helper()
	if o.Config == nil {
		o.Config = e.config
	}
	if o.RouterName == "" {
		o.RouterName = "default"
	}
	o.Log = slog.New(slog.NewTextHandler(testLog{t}, nil))
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, w.Run)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if !w.WaitForSync(ctx) {
		t.Fatal("the watcher did not sync")
	}
	return w, stop
}

// background runs f until the test ends or the returned function is called.
func background(t *testing.T, f func(context.Context) error) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = f(ctx)
	}()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			<-done
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// changesUntil takes changes until done is true for all that was taken.
func changesUntil(t *testing.T, w *Watcher, what string, done func(door.Changes) bool) door.Changes {
	t.Helper()
	sum := door.Changes{Objects: model.Objects{}}
	limit := time.After(30 * time.Second)
	for {
		c := w.Take()
		sum.All = sum.All || c.All
		maps.Copy(sum.Objects, c.Objects)
		if done(sum) {
			return sum
		}
		select {
		case <-w.Wake():
		case <-limit:
			t.Fatalf("waited in vain for %s; changes were %+v", what, sum)
		}
	}
}

func has(o model.Object) func(door.Changes) bool {
	return func(c door.Changes) bool { _, ok := c.Objects[o]; return ok }
}

func all(c door.Changes) bool { return c.All }

// testLog writes the log to the test's output.
type testLog struct{ t *testing.T }

var _ io.Writer = testLog{}

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(string(p[:len(p)-1]))
	return len(p), nil
}
