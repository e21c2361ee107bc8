package canary

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestOnce: the right answer ends it, from whichever port it comes, and a wrong one is tried again until
// there is no more time; then the error says what was wrong.
func TestOnce(t *testing.T) {
	t.Parallel()
	var code atomic.Int32
	port := "8443"
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(headerPort, port)
		w.WriteHeader(int(code.Load()))
		_, _ = io.WriteString(w, answer)
	})
	secure, open := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	defer secure.Close()
	defer open.Close()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		to := secure
		if strings.HasSuffix(address, ":80") {
			to = open
		}
		return (&net.Dialer{}).DialContext(ctx, network, to.Listener.Addr().String())
	}
	ask := func(host string, d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return once(ctx, dial, "192.0.2.1", host)
	}
	code.Store(503)
	if err := ask("", time.Minute); err != nil {
		t.Errorf("a host that no Route has: %v", err)
	}
	if err := ask("canary.example.com", 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "status code 503") || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("without pods: %v", err)
	}
	code.Store(200)
	for _, port = range []string{"8443", "8888"} {
		if err := ask("canary.example.com", time.Minute); err != nil {
			t.Errorf("port %s: %v", port, err)
		}
	}
	if err := ask("", 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "expected 503") {
		t.Errorf("something else answers: %v", err)
	}
	port = "80"
	if err := ask("canary.example.com", 50*time.Millisecond); err == nil {
		t.Error("another port is taken for the canary's")
	}
}
