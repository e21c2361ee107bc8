package health

import (
	"net/url"
	"strings"
)

// defaultQuery asks HAProxy's exporter (HAProxy 3.4, "Prometheus exporter") for
// what dashboards and alerts use: the process and its frontends. What is of single
// Routes has a budget of series, and is on the router's own page (router/traffic):
// the exporter would write 150 MB of 10,000 Routes, and holds HAProxy up meanwhile.
// A request with parameters of its own gets what it asks for.
func defaultQuery() string {
	var names []string
	for _, n := range []string{
		"current_connections", "max_connections", "current_ssl_connections", "idle_time_percent", "start_time_seconds", "uptime_seconds",
		"pool_used_bytes", "pool_failures_total", "connections_total", "requests_total", "nbthread", "stopping",
	} {
		names = append(names, "haproxy_process_"+n)
	}
	for _, n := range []string{
		"bytes_in_total", "bytes_out_total", "connections_total", "current_sessions", "current_session_rate", "limit_sessions",
		"http_requests_total", "http_responses_total", "request_errors_total", "denied_connections_total", "denied_sessions_total",
	} {
		names = append(names, "haproxy_frontend_"+n)
	}
	// A table of limits that is full drops the keys that were idle for the longest time.
	names = append(names, "haproxy_sticktable_size", "haproxy_sticktable_used")
	return url.Values{
		"scope":   {"global", "frontend", "sticktable"},
		"metrics": {strings.Join(names, ",")},
	}.Encode()
}
