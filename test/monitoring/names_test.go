// Package monitoring tests metrics, alerts and dashboards with the real Prometheus.
package monitoring

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/config/generate/monitoring/catalogue"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// program returns the path of a tool, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := toolset.Path(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// foreign are beginnings of names that are MetalLB's, OpenShift's or of the Go libraries, and stay as they are.
var foreign = []string{
	"metallb_", "ingress_canary_", "ingress_controller_", "openshift_", "go_", "process_", "promhttp_", "haproxy_",
	"controller_runtime_", "rest_client_", "workqueue_", "certwatcher_", "leader_election_",
}

func isForeign(name string) bool {
	return slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// check gives a page of metrics to promtool, and returns what it has against names of our own.
func check(t *testing.T, page string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() != 3 { // 3: there are findings
		t.Fatalf("promtool check metrics: %v\n%s", err, out.String())
	}
	var findings []string
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); line != "" && !isForeign(line) {
			findings = append(findings, line)
		}
	}
	return findings
}

// exposition is a page with a series of each metric, as a program that uses all of them would serve it.
func exposition(metrics []catalogue.Metric) string {
	var b strings.Builder
	for _, m := range metrics {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Kind)
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = l + `="x"`
		}
		set := strings.Join(labels, ",")
		if m.Kind != catalogue.Histogram {
			fmt.Fprintf(&b, "%s{%s} 1\n", m.Name, set)
			continue
		}
		fmt.Fprintf(&b, "%s_bucket{%s} 1\n%s_sum{%s} 1\n%s_count{%s} 1\n", m.Name, strings.Join(append(labels, `le="+Inf"`), ","), m.Name, set, m.Name, set)
	}
	return b.String()
}

func programs(t *testing.T) []catalogue.Program {
	t.Helper()
	all, err := catalogue.Programs()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNames: names, types and help texts of all metrics, those without a series too, follow Prometheus's conventions.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, p := range programs(t) {
		for _, f := range check(t, exposition(p.Metrics)) {
			t.Errorf("%s: %s", p.Name, f)
		}
		for _, m := range p.Metrics {
			switch {
			case !isForeign(m.Name) && !strings.HasPrefix(m.Name, "fairlead_"):
				t.Errorf("%s: %s has another prefix than fairlead_", p.Name, m.Name)
			case !strings.HasSuffix(m.Help, "."):
				t.Errorf("%s: the help of %s is no sentence: %s", p.Name, m.Name, m.Help)
			case m.Kind == catalogue.Histogram && !isForeign(m.Name) && !strings.HasSuffix(m.Name, "_seconds"):
				t.Errorf("%s: %s does not name its unit", p.Name, m.Name)
			}
		}
	}
	if bad := check(t, "# HELP fairlead_x A counter.\n# TYPE fairlead_x counter\nfairlead_x 1\n"); len(bad) == 0 {
		t.Error("promtool takes a counter without _total: the test proves nothing")
	}
}

// TestNamesMeanOneThing: a name that two programs serve has one type and one meaning.
func TestNamesMeanOneThing(t *testing.T) {
	t.Parallel()
	known := map[string]catalogue.Metric{}
	for _, p := range programs(t) {
		for _, m := range p.Metrics {
			if other, twice := known[m.Name]; twice && (other.Kind != m.Kind || other.Help != m.Help) {
				t.Errorf("%s is %s (%s) and %s (%s)", m.Name, other.Kind, other.Help, m.Kind, m.Help)
			}
			known[m.Name] = m
		}
	}
	if len(known) < 90 {
		t.Errorf("only %d metrics are known: %v", len(known), slices.Sorted(maps.Keys(known)))
	}
}
