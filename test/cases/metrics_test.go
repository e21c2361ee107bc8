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
		server := &health.Server{Ready: b.engine.Ready, Metrics: b.registry, Routes: b.metrics.WriteRoutes, StatsSocket: b.layout.RunDir() + "/stats.sock"}
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
				"haproxy_backend_max_queue{", "haproxy_server_check_failures_total{", "haproxy_server_downtime_seconds_total{",
				`haproxy_backend_status{`, "haproxy_backend_sessions_total{", "haproxy_backend_connection_reuses_total{",
				"haproxy_backend_queue_time_average_seconds{", "haproxy_backend_connect_time_average_seconds{", "haproxy_backend_response_time_average_seconds{")
		})
		b.eventually("what dashboards use", func() error {
			return metricsHave(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy", port),
				"haproxy_frontend_current_sessions{", "haproxy_process_current_connections ",
				"haproxy_process_max_connections ", "haproxy_process_start_time_seconds ", "haproxy_process_pool_used_bytes ", "haproxy_process_idle_time_percent ",
				`haproxy_frontend_connections_total{proxy="public_ssl"}`, `haproxy_frontend_http_responses_total{proxy="terminate",code="2xx"}`,
				`haproxy_frontend_bytes_in_total{proxy="public"}`, `haproxy_frontend_bytes_out_total{proxy="public"}`,
				"!haproxy_server_", "!haproxy_backend_")
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
