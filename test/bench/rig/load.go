package rig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// loadScript makes wrk take turns on hosts and print what failed.
const loadScript = `
local hosts = {%s}
local methods = {%s}
local n = 0
request = function()
  n = n + 1
  local method = methods[n %% #methods + 1]
  local body = method ~= "GET" and "some text" or nil
  return wrk.format(method, "/", {["Host"] = hosts[n %% #hosts + 1]}, body)
end
done = function(summary)
  local e = summary.errors
  io.write(string.format("\nRESULT %%d %%d %%d %%d %%d %%d\n", summary.requests, e.connect, e.read, e.write, e.timeout, e.status))
end
`

// LoadResult is what wrk counted.
type LoadResult struct {
	Requests, Connect, Read, Write, Timeout, Status int
}

// Failed is the number of requests that failed in any way.
func (r LoadResult) Failed() int { return r.Connect + r.Read + r.Write + r.Timeout + r.Status }

// Load is a running wrk.
type Load struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// StartLoad lets wrk ask hosts in turn, without a pause, over so many
// connections, until Stop.
func (r *Rig) StartLoad(url string, connections int, hosts ...string) (*Load, error) {
	return r.startLoad(url, connections, []string{"GET"}, hosts)
}

// StartMixedLoad is StartLoad with several methods in turn, three of four with
// a body: nobody may repeat those, so that a request that HAProxy loses counts.
func (r *Rig) StartMixedLoad(url string, connections int, hosts ...string) (*Load, error) {
	return r.startLoad(url, connections, []string{"GET", "POST", "PUT", "PATCH"}, hosts)
}

func (r *Rig) startLoad(url string, connections int, methods, hosts []string) (*Load, error) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		return nil, fmt.Errorf("%w: wrk is not installed (apt package wrk)", ErrUnable)
	}
	script, err := os.CreateTemp(r.Dir, "load-*.lua")
	if err != nil {
		return nil, fmt.Errorf("start wrk: %w", err)
	}
	_, err = fmt.Fprintf(script, loadScript, `"`+strings.Join(hosts, `","`)+`"`, `"`+strings.Join(methods, `","`)+`"`)
	if closeErr := script.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("start wrk: %w", err)
	}
	l := &Load{}
	l.cmd = exec.Command(wrk, "-t1", fmt.Sprintf("-c%d", connections), "-d1h", "--timeout", "10s", "-s", filepath.Clean(script.Name()), url)
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.out
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start wrk: %w", err)
	}
	return l, nil
}

// Stop ends wrk and returns what it counted.
func (l *Load) Stop() (LoadResult, error) {
	var r LoadResult
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return r, fmt.Errorf("stop wrk: %w", err)
	}
	if err := l.cmd.Wait(); err != nil {
		return r, fmt.Errorf("wrk: %w: %s", err, l.out.String())
	}
	_, line, _ := strings.Cut(l.out.String(), "\nRESULT ")
	if _, err := fmt.Sscan(line, &r.Requests, &r.Connect, &r.Read, &r.Write, &r.Timeout, &r.Status); err != nil {
		return r, fmt.Errorf("read wrk's result: %w: %s", err, l.out.String())
	}
	return r, nil
}
