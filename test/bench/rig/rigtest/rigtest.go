// Package rigtest starts what tests with a real API server, router and HAProxy
// have in common.
package rigtest

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Start returns a rig with some objects, and a router that is ready on a
// HAProxy of the tools folder ("haproxy", "haproxy-3.0"). Both end with the
// test, and the router's last words are shown if it failed. If unable says why
// nothing can run here, the test is skipped.
func Start(t *testing.T, unable error, haproxy string, objects ...client.Object) (*rig.Rig, *rig.Router) {
	t.Helper()
	return StartPrepared(t, unable, haproxy, func(ctx context.Context, r *rig.Rig) error { return r.Create(ctx, objects...) })
}

// StartPrepared is Start for what is more than objects.
func StartPrepared(t *testing.T, unable error, haproxy string, prepare func(context.Context, *rig.Rig) error) (*rig.Rig, *rig.Router) {
	t.Helper()
	if unable != nil {
		t.Skip(unable)
	}
	if _, err := toolset.Path(haproxy); err != nil {
		t.Skip(err)
	}
	r, err := rig.Start(t.Context(), t.TempDir(), haproxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := prepare(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	router, err := r.StartRouter("r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := router.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(router.LogEnd())
		}
	})
	if err := router.WaitReady(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return r, router
}
