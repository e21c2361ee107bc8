// Package bgprouter runs real routers, FRR or BIRD, in a network namespace, as the
// top-of-rack routers that a cluster's nodes talk BGP to. It needs root.
package bgprouter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// frrFolder is where Debian keeps FRR's daemons.
const frrFolder = "/usr/lib/frr"

// startLimit is how long a daemon may take until it takes commands.
const startLimit = 10 * time.Second

// Router is a router that runs.
type Router struct {
	netns string // path
	dir   string
	// control runs one command of the router's own command line.
	control   func(ctx context.Context, command string) (string, error)
	processes []*exec.Cmd
}

// Missing says what FRR or BIRD lack to run here; empty if nothing.
func Missing() string {
	if os.Geteuid() != 0 {
		return "routers in network namespaces need root"
	}
	for _, program := range []string{filepath.Join(frrFolder, "bgpd"), "/usr/sbin/bird", "/usr/bin/vtysh"} {
		if _, err := os.Stat(program); err != nil {
			return fmt.Sprintf("%s is missing; `make tools` installs it", program)
		}
	}
	return ""
}

// Example returns the blocks of a documentation page that are for FRR and for
// the cluster, with the page's addresses replaced.
func Example(markdown string, replace *strings.Replacer) (frr, yaml string) {
	blocks := map[string]string{}
	for _, b := range regexp.MustCompile("(?ms)^```(yaml|frr)\n(.*?)^```$").FindAllStringSubmatch(markdown, -1) {
		blocks[b[1]] = replace.Replace(b[2])
	}
	return blocks["frr"], blocks["yaml"]
}

// FRR starts zebra, bgpd and bfdd in the namespace /run/netns/NETNS and loads the
// configuration, any line of which FRR does not understand is an error. Dir is
// for its files; what the daemons say goes to log.
func FRR(ctx context.Context, netns, dir, config string, log io.Writer) (*Router, error) {
	r := &Router{netns: filepath.Join("/run/netns", netns), dir: dir}
	r.control = func(ctx context.Context, command string) (string, error) {
		return output(exec.CommandContext(ctx, "vtysh", "--vty_socket", dir, "-c", command))
	}
	if err := r.startFRR(ctx, log); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	if err := r.Load(ctx, config); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (r *Router) startFRR(ctx context.Context, log io.Writer) error {
	// The daemons give up root, and want to write into their folder.
	owner, err := user.Lookup("frr")
	if err != nil {
		return fmt.Errorf("start FRR: %w", err)
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		return fmt.Errorf("start FRR: %w", err)
	}
	gid, err := strconv.Atoi(owner.Gid)
	if err != nil {
		return fmt.Errorf("start FRR: %w", err)
	}
	if err := os.Chown(r.dir, uid, gid); err != nil {
		return fmt.Errorf("start FRR: %w", err)
	}
	for _, daemon := range []string{"zebra", "bgpd", "bfdd"} {
		err := r.run(ctx, log, filepath.Join(frrFolder, daemon), "-f", "/dev/null", "-i", filepath.Join(r.dir, daemon+".pid"),
			"-z", filepath.Join(r.dir, "zserv.api"), "--vty_socket", r.dir, "-P", "0", "--log", "stdout", "--log-level", "warnings")
		if err != nil {
			return err
		}
		if err := ready(ctx, filepath.Join(r.dir, daemon+".vty")); err != nil {
			return err
		}
	}
	return nil
}

// Load adds lines to the configuration of FRR.
func (r *Router) Load(ctx context.Context, config string) error {
	file := filepath.Join(r.dir, "load.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return fmt.Errorf("load FRR's configuration: %w", err)
	}
	out, err := output(exec.CommandContext(ctx, "vtysh", "--vty_socket", r.dir, "-f", file))
	if err == nil && (strings.Contains(out, "Unknown command") || strings.Contains(out, "%")) {
		err = errors.New("FRR does not understand it")
	}
	if err != nil {
		return fmt.Errorf("load FRR's configuration: %w: %s", err, out)
	}
	return nil
}

// BIRD starts BIRD with the configuration in the namespace /run/netns/NETNS.
func BIRD(ctx context.Context, netns, dir, config string, log io.Writer) (*Router, error) {
	r := &Router{netns: filepath.Join("/run/netns", netns), dir: dir}
	socket, file := filepath.Join(dir, "bird.ctl"), filepath.Join(dir, "bird.conf")
	r.control = func(ctx context.Context, command string) (string, error) {
		return output(exec.CommandContext(ctx, "birdc", "-s", socket, command))
	}
	if err := os.WriteFile(file, []byte("log stderr { warning, error, fatal };\n"+config), 0o644); err != nil {
		return nil, fmt.Errorf("start BIRD: %w", err)
	}
	err := r.run(ctx, log, "bird", "-f", "-c", file, "-s", socket)
	if err == nil {
		err = ready(ctx, socket)
	}
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// Dir is where the router's files and sockets are.
func (r *Router) Dir() string { return r.dir }

// Command runs a command of the router's own command line, such as "show bgp
// summary" of FRR or "show protocols" of BIRD.
func (r *Router) Command(ctx context.Context, command string) (string, error) {
	return r.control(ctx, command)
}

// JSON runs a command of FRR and reads its answer into v.
func (r *Router) JSON(ctx context.Context, command string, v any) error {
	out, err := r.control(ctx, command)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// Stop kills the router.
func (r *Router) Stop() error {
	var failed []error
	for _, p := range r.processes {
		failed = append(failed, p.Process.Kill())
		_ = p.Wait() // it was killed
	}
	r.processes = nil
	return errors.Join(failed...)
}

func (r *Router) run(ctx context.Context, log io.Writer, args ...string) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "nsenter", append([]string{"--net=" + r.netns}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	r.processes = append(r.processes, cmd)
	return nil
}

func ready(ctx context.Context, socket string) error {
	return wait.Poll{Limit: startLimit}.Until(ctx, "the router's socket", func() error { _, err := os.Stat(socket); return err })
}

func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// NextHops returns where the kernel of a router's network namespace sends packets
// for an address, sorted: several gateways share them.
func NextHops(ctx context.Context, netns string, addr netip.Addr) ([]string, error) {
	family := "-4"
	if addr.Is6() {
		family = "-6"
	}
	out, err := exec.CommandContext(ctx, "ip", "-n", netns, family, "-json", "route", "show", addr.String()).Output()
	if err != nil {
		return nil, fmt.Errorf("list routes of %s: %w", netns, err)
	}
	type hop struct {
		Gateway string `json:"gateway"`
	}
	var routes []struct {
		hop
		NextHops []hop `json:"nexthops"`
	}
	if err := json.Unmarshal(out, &routes); err != nil {
		return nil, fmt.Errorf("read routes of %s: %w", netns, err)
	}
	var gateways []string
	for _, r := range routes {
		for _, h := range append(r.NextHops, r.hop) {
			if h.Gateway != "" {
				gateways = append(gateways, h.Gateway)
			}
		}
	}
	slices.Sort(gateways)
	return gateways, nil
}
