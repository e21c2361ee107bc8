package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestArrivals: who waits for a kind goes on with the answer that has it, not with others.
func TestArrivals(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	answer.Store(`{"resources":[{"name":"gateways"}]}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/example/v1" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	defer server.Close()
	c, err := newClients(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	a := newArrivals(c.gateway, "/apis/example/v1")
	arrived := make(chan struct{})
	go func() {
		a.await(t.Context(), "httproutes", time.Hour)
		close(arrived)
	}()
	waiting := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.waiting == 1
	}
	eventually(t, "the feed waits", waiting)
	for _, text := range []string{answer.Load().(string), `{"resources":[{"name":"httproutes/status"}]}`, "no JSON"} {
		answer.Store(text)
		a.ask(t.Context())
		select {
		case <-arrived:
			t.Fatalf("went on with %s", text)
		case <-time.After(20 * time.Millisecond): // not a proof, but each fault would show here
		}
	}
	answer.Store(`{"resources":[{"name":"httproutes"},{"name":"httproutes/status"}]}`)
	a.ask(t.Context())
	<-arrived
	if a.waiting != 0 {
		t.Errorf("%d wait", a.waiting)
	}
}
