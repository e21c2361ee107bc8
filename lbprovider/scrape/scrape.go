// Package scrape serves the metrics of operator and speakers to clients that may read
// them; package access asks the API server who that is.
package scrape

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/router/access"
)

// Options serve the metrics of a controller over HTTPS to clients that have a
// token with the right to get /metrics; if open, over HTTP to everybody.
func Options(address string, open bool) metricsserver.Options {
	if open {
		return metricsserver.Options{BindAddress: address}
	}
	return metricsserver.Options{
		BindAddress:   address,
		SecureServing: true,
		// A scrape needs no streams, and what is not there cannot be attacked.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.NextProtos, c.MinVersion = []string{"http/1.1"}, tls.VersionTLS12
		}},
		FilterProvider: func(config *rest.Config, _ *http.Client) (metricsserver.Filter, error) {
			r, err := access.New(config, "")
			if err != nil {
				return nil, err
			}
			return func(_ logr.Logger, next http.Handler) (http.Handler, error) { return only(r, next), nil }, nil
		},
	}
}

// reviewer says whether a token is known, and may do something with a path.
type reviewer interface {
	Review(ctx context.Context, token, verb, path string) (known, allowed bool, err error)
}

// only answers who may get the path.
func only(r reviewer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodGet && q.Method != http.MethodHead {
			http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
			return
		}
		token, bearer := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			token = ""
		}
		known, allowed, err := r.Review(q.Context(), token, "get", q.URL.Path)
		switch {
		case err != nil:
			http.Error(w, "it cannot be asked who you are", http.StatusServiceUnavailable)
		case !known:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send a token of the cluster", http.StatusUnauthorized)
		case !allowed:
			http.Error(w, "the token needs the right to get /metrics; the ClusterRole fairlead-metrics has it", http.StatusForbidden)
		default:
			next.ServeHTTP(w, q)
		}
	})
}
