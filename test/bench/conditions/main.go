// Command conditions measures what deciding between claims with conditions costs HAProxy
// (docs/decisions/guarded-claims.md): requests that only a path decides, and requests
// that a method, headers or query parameters decide as well. It counts HAProxy's
// processor time for each request, in turns, so that a busy machine changes little.
//
//	go run ./test/bench/conditions
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
	"github.com/fairlead/fairlead/templates"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	port  = 18099
	hosts = 10_000
	// turns is how often each variant is measured, turn for how long.
	turns, turn = 7, 2 * time.Second
)

// variant is a configuration and what it is asked: for /a of one of the hosts, which all
// have the same rules.
type variant struct {
	name string
	// lists adds the rule for lists.
	lists bool
	rules []match.Rule
	cost  []float64
}

// value is what the requests are to get: the target of a Route with a sticky cookie.
const value = "be_http:ns:name:01234567||cookie"

const config = `global
  nbthread 1
  tune.lua.bool-sample-conversion normal
  lua-load-per-thread %[1]s/conditions.lua %[1]s/http.map %[1]s/https.map
defaults
  mode http
  timeout client 30s
  timeout connect 5s
  timeout server 30s
frontend public
  bind 127.0.0.1:%[2]d
  http-request set-var(txn.host) req.fhdr(host),lower
  http-request set-var(txn.path) path
  http-request set-var(txn.backend) "var(txn.host),host_only,rtrim(.),concat(,txn.path,/#),map_beg(%[1]s/http.map,!miss)"
%[3]s  http-request return status 200 content-type text/plain lf-string %%[var(txn.backend)]
`

const listRule = "  http-request lua.fairlead_conditions http if { var(txn.backend) -m beg ? }\n"

// withHeaders are claims of one path of which a request with X-Version 3 is the third one's.
func withHeaders() []match.Rule {
	var rules []match.Rule
	for i := range 4 {
		c := &model.Conditions{Headers: []model.Condition{{Name: "X-Version", Value: fmt.Sprint(i + 1)}}}
		if i == 2 {
			c.Method = "GET"
		}
		rules = append(rules, match.Rule{Path: "/", Value: value, Conditions: c})
	}
	return append(rules, match.Rule{Path: "/", Value: value})
}

// withExpressions are ten of which none matches, before a path.
func withExpressions() ([]match.Rule, error) {
	var rules []match.Rule
	for i := range 10 {
		text := fmt.Sprintf("/[a-z]+/v%d(/|$)", i)
		e, err := regex.ParseMatcher(text, false)
		if err != nil {
			return nil, err
		}
		rules = append(rules, match.Rule{Path: e.Beginning, Value: value, Conditions: &model.Conditions{
			Path: &model.PathExpression{Written: text, Pattern: e.Pattern, Longest: e.Longest, Certain: e.Certain},
		}})
	}
	return append(rules, match.Rule{Path: "/", Value: value}), nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "conditions:", err)
		os.Exit(1)
	}
}

func run() error {
	binary, err := toolset.Path("haproxy")
	if err != nil {
		return err
	}
	expressions, err := withExpressions()
	if err != nil {
		return err
	}
	path := []match.Rule{{Path: "/", Value: value}}
	below := append([]match.Rule{{Path: "/a", Value: value, Conditions: &model.Conditions{Method: "PUT"}}}, path...)
	variants := []*variant{
		{name: "path only, no rule for lists", rules: path},
		{name: "path only, beside the rule for lists", lists: true, rules: path},
		{name: "third of five entries, by method and header", lists: true, rules: withHeaders()},
		{name: "the next shorter path, after one entry that is not met", lists: true, rules: below},
		{name: "a path, after ten expressions that do not match", lists: true, rules: expressions},
	}
	dir, err := os.MkdirTemp("", "conditions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for n := range turns {
		for _, v := range variants {
			cost, err := measure(binary, dir, v)
			if err != nil {
				return err
			}
			if n > 0 { // the first turn warms up
				v.cost = append(v.cost, cost)
			}
		}
		fmt.Fprintf(os.Stderr, "turn %d of %d\n", n+1, turns)
	}
	fmt.Println("| requests decided by | HAProxy's µs each |\n|---|---|")
	for _, v := range variants {
		slices.Sort(v.cost)
		fmt.Printf("| %s | %.2f |\n", v.name, v.cost[len(v.cost)/2])
	}
	return nil
}

// listens waits until HAProxy, which reads its keys first, takes connections.
func listens() error {
	return wait.Poll{}.Until(context.Background(), "HAProxy's port", func() error {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// measure returns HAProxy's processor time for each request, in microseconds.
func measure(binary, dir string, v *variant) (float64, error) {
	if err := write(dir, v); err != nil {
		return 0, err
	}
	haproxy := exec.Command(binary, "-q", "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	haproxy.Stderr = os.Stderr
	if err := haproxy.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = haproxy.Process.Kill()
		_ = haproxy.Wait()
	}()
	if err := listens(); err != nil {
		return 0, err
	}
	before, err := rig.CPUTime(haproxy.Process.Pid)
	if err != nil {
		return 0, err
	}
	out, err := exec.Command("wrk", "-t1", "-c16", fmt.Sprintf("-d%ds", int(turn.Seconds())),
		"-H", "Host: h77.test", "-H", "X-Version: 3", fmt.Sprintf("http://127.0.0.1:%d/a", port)).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	after, err := rig.CPUTime(haproxy.Process.Pid)
	if err != nil {
		return 0, err
	}
	var requests int
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Non-2xx") {
			return 0, errors.New(strings.TrimSpace(line))
		}
		if strings.Contains(line, "requests in") {
			if _, err := fmt.Sscan(line, &requests); err != nil {
				return 0, fmt.Errorf("read wrk's result: %w: %q", err, line)
			}
		}
	}
	if requests == 0 {
		return 0, errors.New("no request was answered")
	}
	return (after - before) / float64(requests) * 1e6, nil
}

// write writes the files of a variant.
func write(dir string, v *variant) error {
	rule := ""
	if v.lists {
		rule = listRule
	}
	var keys strings.Builder
	for i := range hosts {
		for _, e := range match.NewTable(fmt.Sprintf("h%d.test", i), v.rules).Entries() {
			fmt.Fprintf(&keys, "%s %s\n", e.Key, e.Value)
		}
	}
	for name, text := range map[string]string{
		"haproxy.cfg": fmt.Sprintf(config, dir, port, rule), "conditions.lua": string(templates.RequestsLua) + string(templates.ConditionsLua),
		"http.map": keys.String(), "https.map": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
