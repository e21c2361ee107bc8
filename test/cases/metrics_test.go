package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/health"
)

// TestHAProxyMetrics: HAProxy's metrics say which Route and which pod they are
// about, as OpenShift's router does.
func TestHAProxyMetrics(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		b.expectLine("GET http://plain.set.test/ -> 200")
		server := &health.Server{Ready: b.engine.Ready, Metrics: b.registry, StatsSocket: b.layout.RunDir() + "/stats.sock"}
		port := freePort(t)
		stop := background(func(ctx context.Context) {
			if err := server.Run(ctx, port); err != nil {
				b.logger().Error("health", "err", err)
			}
		})
		defer stop()
		b.eventually("metrics", func() error {
			answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy?scope=backend&scope=server", port))
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			var missing []error
			for _, want := range []string{
				`haproxy_backend_http_responses_total{backend="http",namespace="s",route="plain",proxy="be_http:s:plain:`,
				`haproxy_server_http_responses_total{backend="http",namespace="s",route="plain",pod="web",service="web",proxy=`,
			} {
				if !strings.Contains(string(body), want) {
					missing = append(missing, fmt.Errorf("no %s", want))
				}
			}
			return errors.Join(missing...)
		})
	})
}
