// Package lbapi is what the tests of the address provider share: an API server
// with the types of group metallb.io, a client of it, and waiting.
package lbapi

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/test/cluster"
)

// API is an API server with the provider's types and namespace.
type API struct {
	// T is the running test; Step changes it for the time of a step.
	T testing.TB
	client.Client
	REST   *rest.Config
	Server *cluster.APIServer
}

// Start starts an API server, or skips the test where there is none. root is
// the path of the repository's root.
func Start(t testing.TB, root string) *API {
	t.Helper()
	ctx := t.Context()
	server, err := cluster.StartAPIServer(ctx, t.TempDir())
	if err != nil {
		t.Skipf("no API server: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Logf("stop API server: %v", err)
		}
	})
	a := &API{T: t, Server: server}
	crds, err := filepath.Glob(filepath.Join(root, "config/lbprovider/crd/*.yaml"))
	if err != nil || len(crds) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, crd := range crds {
		a.Must(server.Apply(ctx, crd))
	}
	_, err = server.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	a.Must(err)
	a.REST, err = server.RESTConfig()
	a.Must(err)
	a.Client, err = client.New(a.REST, client.Options{Scheme: Scheme(t)})
	a.Must(err)
	a.Must(a.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: api.ProviderNamespace}}))
	return a
}

// Scheme returns Kubernetes' types and the provider's.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Meta names an object in the provider's namespace.
func Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: name}
}

// Must ends the test if there is an error.
func (a *API) Must(err error) {
	a.T.Helper()
	if err != nil {
		a.T.Fatal(err)
	}
}

// Eventually polls until check returns "", and ends the test with its last
// answer otherwise.
func (a *API) Eventually(check func() string) {
	a.T.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		why := check()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			a.T.Fatal(why)
		}
		<-tick.C
	}
}

// Step runs f as a subtest of t. Steps build on each other, so the first one
// that fails ends the test.
func (a *API) Step(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	outer := a.T
	ok := t.Run(name, func(t *testing.T) {
		a.T = t
		f(t)
	})
	if a.T = outer; !ok {
		t.FailNow()
	}
}
