package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/config/generate/monitoring/catalogue"
	"github.com/fairlead/fairlead/config/generate/monitoring/dashboards"
	"github.com/fairlead/fairlead/test/freeport"
	"github.com/fairlead/fairlead/test/wait"
)

// patience bounds each wait; a machine that is not busy needs a tenth of it.
const patience = 2 * time.Minute

// TestDashboardsUseWhatIsThere: the metrics and labels of each query exist, and each panel has what a reader needs.
func TestDashboardsUseWhatIsThere(t *testing.T) {
	t.Parallel()
	known := knownLabels(t)
	for _, d := range dashboards.All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				if p.Title == "" || p.Description == "" || p.Unit == "" || len(p.Queries) == 0 {
					t.Errorf("%s: a panel lacks title, description, unit or queries: %+v", d.ID, p)
				}
				for _, q := range p.Queries {
					for _, fault := range unknown(q.Expr, known) {
						t.Errorf("%s, %s: %s", d.ID, p.Title, fault)
					}
				}
			}
		}
	}
}

// TestDashboards asks a real Prometheus each query of the dashboards. It reads a router that serves requests with a real
// HAProxy; for policy agent, operator and speaker, which need a cluster, a page with a series of each of their metrics.
func TestDashboards(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds a program and runs Prometheus")
	}
	admin, _ := startRouter(t)
	others := http.NewServeMux()
	config := scrapeConfig("router", "/metrics", admin) + scrapeConfig("haproxy", "/metrics/haproxy", admin)
	pages := httptest.NewServer(others)
	t.Cleanup(pages.Close)
	for _, p := range programs(t) {
		page := exposition(p.Metrics)
		if p.Name == "router" { // the live one has these, but no policy has refused a request
			page = exposition(only(p.Metrics, "fairlead_router_findings", "fairlead_router_policies", "fairlead_router_policy_answers_total", "fairlead_router_reloads_total"))
		}
		others.HandleFunc("/"+p.Name, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
		config += scrapeConfig(p.Name+"-page", "/"+p.Name, strings.TrimPrefix(pages.URL, "http://"))
	}
	server := startPrometheus(t, config)
	for _, d := range dashboards.All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(q.Expr)
					wait.Poll{Limit: patience, Every: wait.Slowly}.For(t, d.ID+", "+p.Title, func() error { return returnsData(t.Context(), server, expr) })
				}
			}
		}
	}
	if err := returnsData(t.Context(), server, "fairlead_no_such_metric"); err == nil {
		t.Error("a metric that is not there has data: the test proves nothing")
	}
	for name := range haproxyLabels {
		if err := returnsData(t.Context(), server, name); err != nil {
			t.Error(err)
		}
	}
	checkLive(t, admin)
}

func only(metrics []catalogue.Metric, names ...string) (some []catalogue.Metric) {
	for _, m := range metrics {
		for _, n := range names {
			if m.Name == n {
				some = append(some, m)
			}
		}
	}
	return some
}

// checkLive compares the page that the router serves with what the reference says, and gives it to promtool.
func checkLive(t *testing.T, admin string) {
	t.Helper()
	answer, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check(t, string(page)) {
		t.Errorf("the router's page: %s", f)
	}
	kinds := map[string]catalogue.Kind{}
	for _, p := range programs(t) {
		for _, m := range p.Metrics {
			kinds[m.Name] = m.Kind
		}
	}
	seen := 0
	for line := range strings.Lines(string(page)) {
		words := strings.Fields(line)
		if len(words) != 4 || words[1] != "TYPE" || !strings.HasPrefix(words[2], "fairlead_") {
			continue
		}
		if seen++; kinds[words[2]] != catalogue.Kind(words[3]) {
			t.Errorf("the router serves %s as %s, the reference has %q", words[2], words[3], kinds[words[2]])
		}
	}
	if seen < 20 {
		t.Errorf("the router serves %d metrics of its own: %s", seen, page)
	}
}

func scrapeConfig(job, path, target string) string {
	return fmt.Sprintf("- {job_name: %s, metrics_path: %s, static_configs: [{targets: [%q]}]}\n", job, path, target)
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := freeport.TCP()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// run starts a program that ends with the test, and returns the file of what it says.
func run(t *testing.T, name string, args ...string) (log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = out.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s said:\n%s", name, text)
		}
	})
	return log
}

// startRouter serves test/try with a real HAProxy, sends requests, and returns the addresses of the metrics and of the Routes.
func startRouter(t *testing.T, more ...string) (metrics, routes string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "flm") //nolint:usetesting // names of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "fairlead")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, root+"/cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("build fairlead: %v: %s", err, out)
	}
	web, admin := freePort(t), freePort(t)
	args := append([]string{"serve", "--demo", "-f", root + "/test/try"}, more...)
	run(t, binary, append(args, "--haproxy", program(t, "haproxy"), "--work-dir", filepath.Join(dir, "w"), "--http", web, "--https", freePort(t), "--admin", admin)...)
	wait.Poll{Limit: patience, Every: wait.Slowly}.For(t, "the router answers a request", func() error {
		return get(t.Context(), "http://127.0.0.1:"+web+"/", "hello.apps.localhost", http.StatusOK)
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { // traffic until the test ends: Routes, and a host that is none
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			host, want := "hello.apps.localhost", http.StatusOK
			if i%10 == 0 {
				host, want = "none.apps.localhost", http.StatusServiceUnavailable
			}
			_ = get(ctx, "http://127.0.0.1:"+web+"/", host, want)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return "127.0.0.1:" + admin, "127.0.0.1:" + web
}

func get(ctx context.Context, to, host string, want int) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, to, http.NoBody)
	if err != nil {
		return err
	}
	q.Host = host
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		return fmt.Errorf("%s answers %s, want %d", host, answer.Status, want)
	}
	return nil
}

// startPrometheus starts a Prometheus that scrapes each second, and returns its URL.
func startPrometheus(t *testing.T, jobs string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: ["+absolute(t, root+"/config/monitoring/prometheus/rules.yaml")+"]\nscrape_configs:\n"+jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + freePort(t)
	run(t, program(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	return "http://" + address
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// returnsData asks Prometheus, and returns an error unless it has an answer with data.
func returnsData(ctx context.Context, server, expr string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/api/v1/query?query="+url.QueryEscape(expr), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return fmt.Errorf("read the answer of Prometheus: %w", err)
	}
	switch {
	case said.Status != "success":
		return errors.New(expr + ": " + said.Error)
	case len(said.Data.Result) == 0:
		return errors.New(expr + ": no data")
	}
	return nil
}
