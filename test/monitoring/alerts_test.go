package monitoring

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/config/generate/monitoring/rules"
)

const root = "../.."

// promtool runs promtool in a folder.
func promtool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "promtool"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The parts of promtool's file of tests.
type (
	promtoolFile struct {
		RuleFiles []string       `json:"rule_files"`
		Tests     []promtoolTest `json:"tests"`
	}
	promtoolTest struct {
		Name     string           `json:"name"`
		Interval string           `json:"interval"`
		Input    []promtoolSeries `json:"input_series"`
		Queries  []promtoolQuery  `json:"promql_expr_test"`
	}
	promtoolSeries struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	promtoolQuery struct {
		Expr    string           `json:"expr"`
		At      string           `json:"eval_time"`
		Samples []promtoolSample `json:"exp_samples"`
	}
	promtoolSample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
)

// unitTest is a test of one alert on some series: whether it fires after 100 minutes.
func unitTest(a rules.Alert, name string, series []rules.Series, fires bool) promtoolTest {
	test := promtoolTest{Name: a.Name + " " + name, Interval: "1m"}
	for _, s := range series {
		test.Input = append(test.Input, promtoolSeries{s.Name, s.Values})
	}
	query := promtoolQuery{Expr: fmt.Sprintf(`group(ALERTS{alertname=%q,alertstate="firing"})`, a.Name), At: "100m"}
	if fires {
		query.Samples = []promtoolSample{{"{}", 1}}
	}
	test.Queries = []promtoolQuery{query}
	return test
}

// runUnitTests gives tests of alerts to promtool, each with the rule of its alert alone: with all rules they take a
// minute.
func runUnitTests(t *testing.T, tests map[string][]promtoolTest) (string, error) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"test", "rules"}
	for _, g := range rules.Groups() {
		for _, a := range g.Alerts {
			if len(tests[a.Name]) == 0 {
				continue
			}
			file := a.Name + ".rules.yaml"
			text, err := yaml.Marshal(promtoolFile{RuleFiles: []string{file}, Tests: tests[a.Name]})
			if err != nil {
				t.Fatal(err)
			}
			rule := "groups:\n" + rules.YAML([]rules.Group{{Name: g.Name, Records: g.Records, Alerts: []rules.Alert{a}}}, 0)
			for name, content := range map[string]string{file: rule, a.Name + ".yaml": string(text)} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args = append(args, a.Name+".yaml")
		}
	}
	return promtool(t, dir, args...)
}

// TestAlertsFire: each alert fires for the series that it is about, and not for those that look like them.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	tests := map[string][]promtoolTest{}
	for _, g := range rules.Groups() {
		for _, a := range g.Alerts {
			if len(a.Fires) == 0 || len(a.Silent) == 0 {
				t.Errorf("%s has no series for which it fires, or none for which it does not", a.Name)
			}
			tests[a.Name] = []promtoolTest{unitTest(a, "fires", a.Fires, true), unitTest(a, "is silent", a.Silent, false)}
		}
	}
	if out, err := runUnitTests(t, tests); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	a := rules.Groups()[0].Alerts[0]
	if _, err := runUnitTests(t, map[string][]promtoolTest{a.Name: {unitTest(a, "exchanged", a.Silent, true)}}); err == nil {
		t.Error("promtool takes a test that must fail: the tests prove nothing")
	}
}

// TestAlertFiles: Prometheus takes the rules, and the PrometheusRule has the same.
func TestAlertFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "config/monitoring")
	if out, err := promtool(t, filepath.Join(dir, "prometheus"), "check", "rules", "--lint-fatal", "rules.yaml"); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
	var object struct {
		Spec struct {
			Groups []map[string]any `json:"groups"`
		} `json:"spec"`
	}
	var plain struct {
		Groups []map[string]any `json:"groups"`
	}
	for name, into := range map[string]any{"alerts.yaml": &object, "prometheus/rules.yaml": &plain} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if len(plain.Groups) != len(rules.Groups()) || fmt.Sprint(plain.Groups) != fmt.Sprint(object.Spec.Groups) {
		t.Errorf("the PrometheusRule has other groups than the plain file, or they are not those of package rules")
	}
}

// TestRunbooks: each alert has a page, and each page an alert.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	var want []string
	for _, g := range rules.Groups() {
		for _, a := range g.Alerts {
			want = append(want, a.Name+".md")
			for what, text := range map[string]string{"summary": a.Summary, "meaning": a.Meaning, "effect": a.Effect, "repair": a.Repair, "silence": a.Silence, "severity": string(a.Severity)} {
				if strings.TrimSpace(text) == "" {
					t.Errorf("%s has no %s", a.Name, what)
				}
			}
			if len(a.Check) == 0 {
				t.Errorf("%s has no commands", a.Name)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/monitoring/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pages {
		if name := filepath.Base(p); name != "README.md" {
			got = append(got, name)
		}
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("runbooks are %v, alerts %v", got, want)
	}
}

// TestAlertsUseWhatIsThere: the metrics and labels of each rule exist.
func TestAlertsUseWhatIsThere(t *testing.T) {
	t.Parallel()
	known := knownLabels(t)
	for _, g := range rules.Groups() {
		for _, r := range g.Records {
			for _, fault := range unknown(r.Expr, known) {
				t.Errorf("%s: %s", r.Name, fault)
			}
		}
		for _, a := range g.Alerts {
			for _, fault := range unknown(a.Expr, known) {
				t.Errorf("%s: %s", a.Name, fault)
			}
			if len(names(a.Expr)) == 0 {
				t.Errorf("%s: no metric is found in %s", a.Name, a.Expr)
			}
		}
	}
	for expr, fault := range map[string]string{
		`rate(fairlead_router_reload_total[5m]) > 0`:                "fairlead_router_reload_total is no metric",
		`sum by (shop) (fairlead_router_routes)`:                    "fairlead_router_routes has no label shop",
		`fairlead_router_routes{sate="served"}`:                     "fairlead_router_routes has no label sate",
		`rate(fairlead_router_routes_bucket[5m])`:                   "fairlead_router_routes_bucket is no metric",
		`haproxy_process_no_such / haproxy_process_max_connections`: "haproxy_process_no_such is no metric",
	} {
		if got := unknown(expr, known); !slices.Contains(got, fault) {
			t.Errorf("%s: faults are %v, want %s", expr, got, fault)
		}
	}
}
