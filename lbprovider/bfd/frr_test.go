package bfd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const daemons = "/usr/lib/frr/"

// frr is FRR's bfdd in a network namespace.
type frr struct {
	t    *testing.T
	ns   string
	dir  string
	bfdd *exec.Cmd
}

// startFRR runs zebra and bfdd with the given configuration of bfdd.
func startFRR(t *testing.T, ns, config string) *frr {
	t.Helper()
	dir, err := os.MkdirTemp("", "flbfd") //nolint:usetesting // paths of sockets must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &frr{t: t, ns: ns, dir: dir}
	owner, err := user.Lookup("frr")
	must(t, err)
	uid, err := strconv.Atoi(owner.Uid)
	must(t, err)
	must(t, os.Chown(dir, uid, -1))
	must(t, os.Chmod(dir, 0o755))
	f.daemon("zebra", "")
	f.bfdd = f.daemon("bfdd", config, "--bfdctl", filepath.Join(dir, "bfdctl"))
	return f
}

func (f *frr) daemon(name, config string, more ...string) *exec.Cmd {
	f.t.Helper()
	file := filepath.Join(f.dir, name+".conf")
	must(f.t, os.WriteFile(file, []byte(config), 0o644))
	args := append([]string{
		"--net=/run/netns/" + f.ns, daemons + name, "-f", file, "-i", filepath.Join(f.dir, name+".pid"),
		"-z", filepath.Join(f.dir, "zserv"), "--vty_socket", f.dir,
	}, more...)
	cmd := exec.Command("nsenter", args...)
	cmd.Stdout, cmd.Stderr = f.t.Output(), f.t.Output()
	must(f.t, cmd.Start())
	f.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // it may be stopped, or gone
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
		cmd.Wait()                          //nolint:errcheck // it was told to end
	})
	eventually(f.t, func() string {
		if _, err := os.Stat(filepath.Join(f.dir, name+".vty")); err != nil {
			return err.Error()
		}
		return ""
	})
	return cmd
}

func (f *frr) vtysh(commands ...string) string {
	f.t.Helper()
	args := []string{"--net=/run/netns/" + f.ns, "vtysh", "--vty_socket", f.dir, "-d", "bfdd"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	out, err := exec.Command("nsenter", args...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("vtysh %v: %v: %s", commands, err, out)
	}
	return string(out)
}

// frrPeer is how FRR describes a session.
type frrPeer struct {
	Peer        string `json:"peer"`
	Status      string `json:"status"`
	Diag        string `json:"diagnostic"`
	RemoteDiag  string `json:"remote-diagnostic"`
	Receive     int    `json:"receive-interval"`
	Transmit    int    `json:"transmit-interval"`
	Mult        int    `json:"detect-multiplier"`
	RemoteRx    int    `json:"remote-receive-interval"`
	RemoteTx    int    `json:"remote-transmit-interval"`
	RemoteMult  int    `json:"remote-detect-multiplier"`
	RemoteID    uint32 `json:"remote-id"`
	SessionUp   int    `json:"session-up"`
	SessionDown int    `json:"session-down"`
}

func (f *frr) peer(addr string) frrPeer {
	f.t.Helper()
	var found frrPeer
	for _, what := range []string{"peers", "peers counters"} {
		out := f.vtysh("show bfd " + what + " json")
		var peers []json.RawMessage
		if err := json.Unmarshal([]byte(out), &peers); err != nil {
			f.t.Fatalf("%s: %v", out, err)
		}
		for _, raw := range peers {
			p := found
			must(f.t, json.Unmarshal(raw, &p))
			if p.Peer == addr {
				found = p
			}
		}
	}
	return found
}

func (f *frr) becomes(addr, what string, ok func(frrPeer) bool) frrPeer {
	f.t.Helper()
	var p frrPeer
	eventually(f.t, func() string {
		if p = f.peer(addr); !ok(p) {
			return fmt.Sprintf("FRR's session with %s is not %s: %+v", addr, what, p)
		}
		return ""
	})
	return p
}

// path is a network: us — near — far, where near routes.
type path struct {
	t      *testing.T
	prefix string
}

func (p *path) run(args ...string) {
	p.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func (p *path) ns(name string) string { return p.prefix + name }

func newPath(t *testing.T) *path {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, program := range []string{"ip", "nsenter", "vtysh", daemons + "bfdd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	p := &path{t: t, prefix: fmt.Sprintf("flb-%d-", os.Getpid())}
	for _, name := range []string{"us", "near", "far"} {
		p.run("ip", "netns", "add", p.ns(name))
		t.Cleanup(func() { p.run("ip", "netns", "del", p.ns(name)) })
		// Duplicate address detection would keep addresses unusable for a second.
		p.run("ip", "netns", "exec", p.ns(name), "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0",
			"net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
		p.run("ip", "-n", p.ns(name), "link", "set", "lo", "up")
	}
	p.cable("us", "near", "198.18.80", "fd00:80")
	p.cable("near", "far", "198.18.81", "fd00:81")
	for _, r := range []struct{ ns, v4, v6 string }{{"us", "198.18.80.2", "fd00:80::2"}, {"far", "198.18.81.1", "fd00:81::1"}} {
		p.run("ip", "-n", p.ns(r.ns), "route", "add", "default", "via", r.v4)
		p.run("ip", "-n", p.ns(r.ns), "-6", "route", "add", "default", "via", r.v6)
	}
	return p
}

// cable joins two hosts, each by an interface that is called as the other.
func (p *path) cable(a, b, v4, v6 string) {
	p.t.Helper()
	p.run("ip", "-n", p.ns(a), "link", "add", b, "type", "veth", "peer", "name", a, "netns", p.ns(b))
	for i, end := range [][2]string{{a, b}, {b, a}} {
		ns, dev := p.ns(end[0]), end[1]
		p.run("ip", "-n", ns, "addr", "add", fmt.Sprintf("%s.%d/24", v4, i+1), "dev", dev)
		p.run("ip", "-n", ns, "addr", "add", fmt.Sprintf("%s::%d/64", v6, i+1), "dev", dev)
		p.run("ip", "-n", ns, "addr", "add", fmt.Sprintf("fe80::%d/64", i+1), "dev", dev)
		p.run("ip", "-n", ns, "link", "set", dev, "up")
	}
}

// startBIRD runs BIRD in a network namespace.
func startBIRD(t *testing.T, ns, config string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("bird"); err != nil {
		t.Skipf("needs bird: %v", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "bird.conf")
	must(t, os.WriteFile(file, []byte("log stderr all;\nrouter id 198.18.80.2;\nprotocol device { }\n"+config), 0o644))
	cmd := exec.Command("nsenter", "--net=/run/netns/"+ns, "bird", "-f", "-c", file, "-s", filepath.Join(dir, "ctl"), "-P", filepath.Join(dir, "pid"))
	cmd.Stderr = t.Output()
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may be gone
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	return cmd
}
