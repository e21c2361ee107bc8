package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// TestWatcher: a program that watches the cluster knows kinds that are installed later and objects as they come and go,
// and gives the same objects as long as nothing changes.
func TestWatcher(t *testing.T) {
	if server == nil {
		t.Skipf("no API server (run \"make tools\"): %v", skipReason)
	}
	removeGatewayKinds(t)
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	w, err := cluster.NewWatcher(config, "default")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	objects := func() *explain.Objects {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		o, err := w.Objects(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	gateways := func(want int) {
		t.Helper()
		wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, fmt.Sprintf("%d objects of the Gateway API", want), func() error {
			if got := len(objects().Gateways); got != want {
				return fmt.Errorf("there are %d", got)
			}
			return nil
		})
	}
	if got := len(objects().Gateways); got != 0 {
		t.Errorf("%d objects of kinds that are not there", got)
	}
	kubectl := func(args ...string) {
		t.Helper()
		if out, err := server.Kubectl(t.Context(), args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	kubectl("apply", "--server-side", "-k", "../../config/gateway")
	kubectl("wait", "--for=condition=Established", "crd", "gatewayclasses.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "--timeout=30s")
	if err := apply(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: watched}
spec: {controllerName: example.com/none}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: watched, namespace: default}
spec: {gatewayClassName: watched, listeners: [{name: http, port: 80, protocol: HTTP}]}
`); err != nil {
		t.Fatal(err)
	}
	gateways(2)
	settled := objects()
	time.Sleep(200 * time.Millisecond)
	if now := objects(); now != settled {
		t.Error("nothing has changed, and the objects are others")
	}
	kubectl("delete", "gateway/watched", "-n", "default")
	gateways(1)
	if len(settled.Gateways) != 2 {
		t.Error("objects that were given have changed")
	}
	kubectl("delete", "gatewayclass/watched")
	gateways(0)
}
