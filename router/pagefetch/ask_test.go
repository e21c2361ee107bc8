package pagefetch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// TestAsk: a page is what a Service answers with the status that it is asked for, or says is
// fine. What it may not do ends with a reason that names no address.
func TestAsk(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"the status":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); _, _ = io.WriteString(w, "gone") }, "gone text/plain;charset=utf-8"},
		"fine":          {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.Header.Get("X-Code")) }, "errors.ns.svc404 text/plain;charset=utf-8"},
		"another error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "it answered with status 500"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://198.18.0.1/", http.StatusFound)
		}, "it answered with status 302"},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "the page is empty"},
		"no end":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) }, "longer than 16000 bytes"},
		"a hostile type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", `a/b|c; d="%[src]`)
			_, _ = io.WriteString(w, "x")
		}, "x text/html;charset=utf-8"},
		"long headers": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 2*maxHeaders)) }, "it cannot be reached, or its answer is no HTTP"},
		"silence":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "it did not answer within 5s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(test.answer))
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			fetch := model.PageFetch{Key: model.Object{Namespace: "ns"}, Host: "errors.ns.svc"}
			use, err := ask(ctx, netip.MustParseAddrPort(server.Listener.Addr().String()), &fetch, 404)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = use.Text + " " + use.Type
			}
			if !strings.Contains(got, test.want) || strings.Contains(got, "127.0.0.1") {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
