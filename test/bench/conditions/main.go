// Command conditions measures what the design of guarded claims costs HAProxy
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

// variant is a configuration and what it is asked.
type variant struct {
	name string
	// guarded adds the rule for guarded keys, value is that of all keys.
	guarded bool
	value   string
	cost    []float64
}

// candidates is an ordered list as a guarded key names it: a request that has
// X-Version 3 is the third one's.
const candidates = "h~x-version~1>b1;h~x-version~2>b2;M~GET^h~x-version~3>b3;q~beta~1>b4;>b5"

const config = `global
  nbthread 1
  tune.lua.bool-sample-conversion normal
  lua-load %[1]s/conditions.lua
defaults
  mode http
  timeout client 30s
  timeout connect 5s
  timeout server 30s
frontend public
  bind 127.0.0.1:%[2]d
  http-request set-var-fmt(txn.key) %%[req.hdr(host),lower]%%[path]/#
  http-request set-var(txn.target) var(txn.key),map_beg(%[1]s/http.map)
%[3]s  http-request return status 200 content-type text/plain lf-string %%[var(txn.target)]
`

const guardRule = "  http-request lua.conditions if { var(txn.target) -m beg ? }\n"

// script evaluates the candidates of a key. A list is parsed once for each text.
const script = `
local lists = Map.new("%[1]s/candidates.map", Map._str)
local parsed, count = {}, 0
local function parse(text)
  local out = {}
  for item in text:gmatch("[^;]+") do
    local conditions, target = item:match("^(.-)>(.*)$")
    local c = {target = target}
    for one in conditions:gmatch("[^^]+") do
      local kind, name, value = one:match("^(%%a)~([^~]*)~?(.*)$")
      c[#c + 1] = {kind = kind, name = name, value = value}
    end
    out[#out + 1] = c
  end
  count = count + 1
  if count > 20000 then parsed, count = {}, 1 end
  parsed[text] = out
  return out
end
core.register_action("conditions", {"http-req"}, function(txn)
  local text = lists:lookup(txn:get_var("txn.target"):sub(2))
  if text == nil then txn:set_var("txn.target", "!500") return end
  local headers
  for _, c in ipairs(parsed[text] or parse(text)) do
    local ok = true
    for _, one in ipairs(c) do
      if one.kind == "M" then
        ok = txn.f:method() == one.name
      elseif one.kind == "h" then
        headers = headers or txn.http:req_get_headers()
        local values = headers[one.name]
        ok = values ~= nil and values[0] == one.value
      else
        ok = txn.f:url_param(one.name) == one.value
      end
      if not ok then break end
    end
    if ok then txn:set_var("txn.target", c.target) return end
  end
end, 0)
`

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
	variants := []*variant{
		{name: "path only, no rule for conditions", value: "b3"},
		{name: "path only, beside the rule for conditions", guarded: true, value: "b3"},
		{name: "third of five candidates, by method and header", guarded: true, value: "?1"},
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
	rule := ""
	if v.guarded {
		rule = guardRule
	}
	var keys strings.Builder
	for i := range hosts {
		fmt.Fprintf(&keys, "h%d.test/ %s\n", i, v.value)
	}
	for name, text := range map[string]string{
		"haproxy.cfg": fmt.Sprintf(config, dir, port, rule), "conditions.lua": fmt.Sprintf(script, dir),
		"http.map": keys.String(), "candidates.map": "1 " + candidates + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return 0, err
		}
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
