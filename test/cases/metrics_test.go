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
		b.eventually("everything", func() error {
			return metricsHave(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy?scope=backend&scope=server", port),
				`haproxy_backend_http_responses_total{backend="http",namespace="s",route="plain",proxy="be_http:s:plain:`,
				`haproxy_server_http_responses_total{backend="http",namespace="s",route="plain",pod="web",service="web",proxy=`,
				"haproxy_backend_max_queue{")
		})
		b.eventually("what dashboards use", func() error {
			return metricsHave(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy", port),
				`haproxy_backend_http_responses_total{backend="http",namespace="s",route="plain",proxy="be_http:s:plain:`,
				"haproxy_frontend_current_sessions{", "haproxy_process_current_connections ",
				"!haproxy_server_", "!haproxy_backend_max_queue{")
		})
	})
}

// metricsHave asks for metrics; a text with ! before it must be missing.
func metricsHave(url string, texts ...string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var faults []error
	for _, text := range texts {
		text, missing := strings.CutPrefix(text, "!")
		if strings.Contains(string(body), text) == missing {
			faults = append(faults, fmt.Errorf("%s: %q: missing must be %v", url, text, missing))
		}
	}
	return errors.Join(faults...)
}
