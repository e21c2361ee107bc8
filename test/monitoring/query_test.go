package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/config/generate/monitoring/catalogue"
	"github.com/fairlead/fairlead/config/generate/monitoring/rules"
)

// targetLabels are what Prometheus adds to each series.
var targetLabels = []string{"job", "instance", "pod", "container", "endpoint", "metrics_path"}

// haproxyLabels are the metrics of HAProxy's exporter that rules and dashboards use, with their labels. The test of
// the dashboards asks the real one for them.
var haproxyLabels = map[string][]string{
	"haproxy_process_current_connections":   nil,
	"haproxy_process_max_connections":       nil,
	"haproxy_process_idle_time_percent":     nil,
	"haproxy_process_uptime_seconds":        nil,
	"haproxy_frontend_connections_total":    {"proxy"},
	"haproxy_frontend_current_sessions":     {"proxy"},
	"haproxy_frontend_bytes_in_total":       {"proxy"},
	"haproxy_frontend_bytes_out_total":      {"proxy"},
	"haproxy_frontend_http_requests_total":  {"proxy"},
	"haproxy_frontend_http_responses_total": {"proxy", "code"},
	"process_resident_memory_bytes":         nil, // of the Go library
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	matchers = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	word     = regexp.MustCompile(`[a-zA-Z_:$][a-zA-Z0-9_:]*`)
)

// keywords of PromQL that are no metrics and stand before no parenthesis.
var keywords = []string{"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right", "Inf", "NaN"}

// names returns the metrics in a query.
func names(expr string) []string {
	expr = quoted.ReplaceAllString(expr, `""`)
	expr = grouping.ReplaceAllString(expr, " ")
	expr = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`).ReplaceAllString(expr, " ")
	var found []string
	for _, at := range word.FindAllStringIndex(expr, -1) {
		name := expr[at[0]:at[1]]
		function := strings.HasPrefix(strings.TrimLeft(expr[at[1]:], " "), "(")
		number := at[0] > 0 && expr[at[0]-1] >= '0' && expr[at[0]-1] <= '9'
		if !function && !number && !slices.Contains(keywords, name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// knownLabels returns the labels of each metric, those of a histogram's series by their names.
func knownLabels(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{"up": nil}
	maps.Copy(known, haproxyLabels)
	for _, g := range rules.Groups() {
		for _, r := range g.Records {
			known[r.Name] = []string{"namespace", "route"}
		}
	}
	for _, p := range programs(t) {
		for _, m := range p.Metrics {
			switch m.Kind {
			case catalogue.Histogram:
				known[m.Name+"_bucket"] = append(slices.Clone(m.Labels), "le")
				known[m.Name+"_sum"], known[m.Name+"_count"] = m.Labels, m.Labels
			default:
				known[m.Name] = m.Labels
			}
			if p.Name == "agent" {
				known[m.Name] = append(slices.Clone(m.Labels), "worker")
			}
		}
	}
	return known
}

// unknown returns the metrics and labels of a query that no program has.
func unknown(expr string, known map[string][]string) (faults []string) {
	has := func(name, label string) bool {
		return slices.Contains(known[name], label) || slices.Contains(targetLabels, label)
	}
	all := names(expr)
	for _, name := range all {
		if _, ok := known[name]; !ok {
			faults = append(faults, name+" is no metric")
		}
	}
	plain := quoted.ReplaceAllString(expr, `""`)
	for _, m := range matchers.FindAllStringSubmatch(plain, -1) {
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !has(m[1], l[1]) {
				faults = append(faults, fmt.Sprintf("%s has no label %s", m[1], l[1]))
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(plain, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			label = strings.TrimSpace(label)
			for _, name := range all {
				if _, ok := known[name]; ok && label != "" && !has(name, label) {
					faults = append(faults, fmt.Sprintf("%s has no label %s", name, label))
				}
			}
		}
	}
	return faults
}
