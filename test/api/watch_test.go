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
	there := map[string]bool{} // the objects of the Gateway API
	readings := 0
	read := func() (changed bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		all, changes, err := w.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if all != nil {
			readings++
			clear(there)
			for key := range all.Gateways {
				there[key.Name] = true
			}
		}
		for _, c := range changes {
			switch o := c.Now; {
			case o == nil:
				delete(there, c.Before.GetName())
			case explain.OfGatewayAPI(explain.Ref(o).Kind):
				there[o.GetName()] = true
			}
		}
		return all != nil || len(changes) > 0
	}
	gateways := func(want int) {
		t.Helper()
		wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, fmt.Sprintf("%d objects of the Gateway API", want), func() error {
			if read(); len(there) != want {
				return fmt.Errorf("there are %v", there)
			}
			return nil
		})
	}
	if read(); len(there) != 0 {
		t.Errorf("objects of kinds that are not there: %v", there)
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
metadata: {name: gw, namespace: default}
spec: {gatewayClassName: watched, listeners: [{name: http, port: 80, protocol: HTTP}]}
`); err != nil {
		t.Fatal(err)
	}
	gateways(2)
	last := time.Now() // kinds that have just come are found within seconds, each by itself
	wait.Poll{Limit: time.Minute, Every: 200 * time.Millisecond}.For(t, "no change for some seconds", func() error {
		if read() {
			last = time.Now()
		}
		return wait.True(time.Since(last) > 7*time.Second)
	})
	of := readings
	kubectl("delete", "gateway/gw", "-n", "default")
	gateways(1)
	if readings != of {
		t.Error("all was read again after a change of one object")
	}
	kubectl("delete", "gatewayclass/watched")
	gateways(0)
}
