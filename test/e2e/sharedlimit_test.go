package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// TestSharedLimit asks both routers at once: together they admit what the limit says, by
// the certificates that the operator has made.
func TestSharedLimit(t *testing.T) {
	p := installed(t)
	apply(t, p, `apiVersion: route.openshift.io/v1
kind: Route
metadata:
  name: quota
  namespace: demo
  annotations: {fairlead.dev/limit: 20/s burst 5, fairlead.dev/limit-key: "header:X-User", fairlead.dev/limit-scope: Shared}
spec:
  host: quota.apps.example.com
  port: {targetPort: http}
  to: {kind: Service, name: demo-v1}
`)
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), MaxIdleConnsPerHost: 8}}
	ask := func(address string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/text", http.NoBody)
		if err != nil {
			return 0, err
		}
		r.Host = "quota.apps.example.com"
		r.Header.Set("X-User", "ann")
		answer, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		return answer.StatusCode, nil
	}
	var routers []string
	for _, name := range pods(t, p, "openshift-ingress", routerPods) {
		routers = append(routers, podIP(t, p, name))
	}
	if len(routers) != 2 {
		t.Fatalf("%d routers", len(routers))
	}
	for _, router := range routers {
		err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the router counts with the other one", func() error {
			status, err := ask(router)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var admitted, all atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for i := range 6 {
		router := routers[i/5] // most of them at the first one
		running.Go(func() {
			for time.Since(began) < 6*time.Second {
				status, err := ask(router)
				if err != nil {
					t.Error(err)
				}
				if all.Add(1); status == http.StatusOK {
					admitted.Add(1)
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	running.Wait()
	most := 20*time.Since(began).Seconds() + 5
	t.Logf("%d of %d requests admitted, at most %.0f are right", admitted.Load(), all.Load(), most)
	if n := float64(admitted.Load()); n > most || n < 0.6*most {
		t.Errorf("%.0f of %d requests admitted, at most %.0f are right", n, all.Load(), most)
	}
}
