// Package metallbapi is what the tests of the address provider share: an API server
// with the types of group metallb.io, a client of it, and waiting.
package metallbapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	"github.com/fairlead/fairlead/test/wait"
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
	a.REST, a.Client, err = Install(ctx, server, root)
	a.Must(err)
	return a
}

// With starts an API server for a program that is no test, and ends it when do
// returns. dir goes with it. root is the path of the repository's root.
func With(ctx context.Context, root string, do func(a *API, dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "fairlead-lbapi-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &API{Server: server}
	if a.REST, a.Client, err = Install(ctx, server, root); err != nil {
		return err
	}
	return do(a, dir)
}

// Install gives an API server the provider's types and namespace, and returns a
// client for them. root is the path of the repository's root.
func Install(ctx context.Context, server *cluster.APIServer, root string) (*rest.Config, client.Client, error) {
	crds, err := filepath.Glob(filepath.Join(root, "config/lbprovider/crd/*.yaml"))
	if err == nil && len(crds) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find the CRDs in %s: %w", root, err)
	}
	for _, crd := range crds {
		if err := server.Apply(ctx, crd); err != nil {
			return nil, nil, err
		}
	}
	if _, err := server.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); err != nil {
		return nil, nil, err
	}
	config, err := server.RESTConfig()
	if err != nil {
		return nil, nil, err
	}
	scheme, err := types()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: api.ProviderNamespace}}); err != nil {
		return nil, nil, fmt.Errorf("create the provider's namespace: %w", err)
	}
	return config, c, nil
}

// Scheme returns Kubernetes' types and the provider's.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s, err := types()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func types() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return s, nil
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
	wait.Poll{Limit: time.Minute, Every: 20 * time.Millisecond}.For(a.T, "the API server", func() error { return wait.Reason(check()) })
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
