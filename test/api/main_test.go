// Package api tests Fairlead against a real kube-apiserver: what its CRDs
// refuse, and what the operator does with real objects. There are no nodes and
// no other controllers, so nothing but the operator changes an object.
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/test/cluster"
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
	if err := discovered(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// discovered waits until clients can find the kinds: the API server lists an
// established one a moment later.
func discovered(ctx context.Context) error {
	kinds := []string{"routes.route.openshift.io", "ingresscontrollers.operator.openshift.io", "dnsrecords.ingress.operator.openshift.io", "ipaddresspools.metallb.io"}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := server.Kubectl(ctx, "api-resources", "--cached=false", "-o", "name")
		if err == nil && !slices.ContainsFunc(kinds, func(kind string) bool { return !strings.Contains(out, kind) }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the API server does not list the kinds: %s", out), err)
		}
	}
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
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), operator.AddToScheme(s), v1beta1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually fails the test if the check still fails after 15 seconds, with its last error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("did not come true in time: %v", err)
		}
		<-tick.C
	}
}
