// Package api tests Fairlead against a real kube-apiserver: what its CRDs
// refuse, and what the operator does with real objects. There are no nodes and
// no other controllers, so nothing but the operator changes an object.
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// server is the API server of all tests of this package; nil if it cannot run,
// for the reason in skipReason.
//
// It is the one global of the tests: starting it takes seconds, and TestMain
// has no other way to hand it over.
var (
	server     *cluster.APIServer
	skipReason error
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "fairlead-api-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err = cluster.StartAPIServer(ctx, dir)
	if err != nil {
		server, skipReason = nil, err
		return m.Run(), nil
	}
	defer server.Stop() //nolint:errcheck // its files go with dir
	if _, err := server.Kubectl(ctx, "apply", "--server-side", "-k", "../../config/default"); err != nil {
		return 1, err
	}
	if _, err := server.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); err != nil {
		return 1, err
	}
	if err := served(ctx, dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

const anyRoute = `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: first, namespace: default}
spec: {host: first.example.com, to: {kind: Service, name: a}}
`

// served waits until the API server takes Routes. It answers 503 in the first
// seconds after the installation, until its policies know the kind's schema.
func served(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "route.yaml")
	if err := os.WriteFile(file, []byte(anyRoute), 0o600); err != nil {
		return err
	}
	return wait.Poll{Limit: 5 * time.Minute, Every: 50 * time.Millisecond}.Until(ctx, "the API server takes a Route", func() error {
		_, err := server.Kubectl(ctx, "create", "--dry-run=server", "-f", file)
		return err
	})
}

// newClient returns a client without a cache, or skips the test.
func newClient(t *testing.T) client.Client {
	t.Helper()
	if server == nil {
		t.Skipf("no API server (run \"make tools\"): %v", skipReason)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 200, 400
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), operator.AddToScheme(s), v1beta1.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually fails the test if the check still fails after 15 seconds, with its last error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, "the API server", check)
}
