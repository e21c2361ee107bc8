package rig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead/fairlead/router/haproxy"
)

// Handwritten is a HAProxy with a configuration as an administrator would write
// it for the same pods, without any router.
type Handwritten struct {
	Port, PID int
	cmd       *exec.Cmd
}

// handwrittenHead has the router's timeouts, limits and headers. It leaves out
// everything that only a router needs.
const handwrittenHead = `global
  maxconn %d
  nbthread 1
  ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout tunnel 1h
  timeout http-request 10s
  timeout http-keep-alive 5m
  option redispatch
  balance random
frontend public
  bind *:%d
  http-request add-header X-Forwarded-For %%[src]
  http-request add-header X-Forwarded-Host %%[req.hdr(host)]
  http-request add-header X-Forwarded-Port %%[dst_port]
  http-request add-header X-Forwarded-Proto http
  http-request add-header Forwarded for=%%[src];host=%%[req.hdr(host)];proto=http
`

// handwrittenBackend has a sticky cookie, as routes have.
const handwrittenBackend = `backend b%d
  cookie c%032x insert indirect nocache httponly
  server s1 %s:%d weight 1 cookie %032x
`

// StartHandwritten starts one with a backend for each of so many routes, which
// an exact map of hosts leads to. With a single route there is no map: all
// hosts go to that backend.
func (r *Rig) StartHandwritten(port int, prefix string, routes, connections int) (*Handwritten, error) {
	var config, hosts bytes.Buffer
	dir := filepath.Join(r.work(), fmt.Sprintf("hand-%d", port))
	fmt.Fprintf(&config, handwrittenHead, connections, port)
	if routes == 1 {
		fmt.Fprintln(&config, "  default_backend b0")
	} else {
		fmt.Fprintf(&config, "  use_backend %%[req.hdr(host),lower,map_str(%s/hosts.map)]\n", dir)
	}
	for i := range routes {
		fmt.Fprintf(&config, handwrittenBackend, i, i, Address(i), PodPort, i)
		fmt.Fprintf(&hosts, "%s b%d\n", Host(fmt.Sprintf("%s%d", prefix, i)), i)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start the handwritten HAProxy: %w", err)
	}
	for name, text := range map[string][]byte{"haproxy.cfg": config.Bytes(), "hosts.map": hosts.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("start the handwritten HAProxy: %w", err)
		}
	}
	h := &Handwritten{Port: port, cmd: exec.Command(r.HAProxy, "-q", "-f", filepath.Join(dir, "haproxy.cfg"))}
	h.cmd.Stdout, h.cmd.Stderr = os.Stdout, os.Stderr
	// As the router's, so that only configurations are compared.
	h.cmd.Env = append(os.Environ(), haproxy.HugePages()...)
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the handwritten HAProxy: %w", err)
	}
	h.PID = h.cmd.Process.Pid
	if err := waitForPort(port); err != nil {
		h.Stop()
		return nil, err
	}
	return h, nil
}

// Stop ends it.
func (h *Handwritten) Stop() {
	_ = h.cmd.Process.Kill() // it may have ended already
	_ = h.cmd.Wait()
}
