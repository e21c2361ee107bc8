package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// TestDrainRouter deletes the router pod that serves the address, with a
// request under way. The pod stops being ready first, new connections go to
// the other pod, and the request gets its answer.
func TestDrainRouter(t *testing.T) {
	p := installed(t)
	owner, err := p.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pod, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pods", "-l", routerPods,
		"--field-selector", "spec.nodeName="+owner, "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		t.Fatal(err)
	}
	b := startProbe(t, p, plainHost)
	slow := make(chan error, 1)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	go func() { slow <- request(t.Context(), client, "http://"+p.Address+"/slow?ms=9000", plainHost) }()
	observe(t, time.Second)
	if _, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "delete", "pod", pod, "--wait=false"); err != nil {
		t.Fatal(err)
	}
	if err := <-slow; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	observe(t, 3*time.Second)
	available(t, p)
	b.report(t, time.Second)
}

// TestDrainLastRouters deletes all routers while no node takes new ones. Nothing else can serve, so they go on for as long as clients
// come, and kube-proxy sends to them although they are about to stop.
func TestDrainLastRouters(t *testing.T) {
	p := installed(t)
	ownerOf(t, p)
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := p.Kubectl(context.WithoutCancel(t.Context()), args...); err != nil { // in the end, too
			t.Error(err)
		}
	}
	kubectl(append([]string{"cordon"}, p.Cluster.Nodes()...)...)
	t.Cleanup(func() {
		kubectl(append([]string{"uncordon"}, p.Cluster.Nodes()...)...)
		kubectl("-n", "openshift-ingress", "rollout", "status", "deployment/router-default", "--timeout=60s")
	})
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	kubectl("-n", "openshift-ingress", "delete", "pod", "-l", routerPods, "--wait=false")
	observe(t, 12*time.Second) // their delay is 5 s
	b.report(t, 0)
}
