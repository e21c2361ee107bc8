package liveness

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// inNetwork in the environment says that this process has a network of its own.
const inNetwork = "FAIRLEAD_LIVENESS_TEST_NETWORK"

// TestOverIPv6 has speakers meet, lose one and part on addresses of a cluster
// without IPv4. The test starts itself again in a network of its own, as this
// machine has only one address of that kind on its loopback.
func TestOverIPv6(t *testing.T) {
	if _, there := os.LookupEnv(inNetwork); !there {
		if os.Geteuid() != 0 {
			t.Skip("network namespaces need root")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestOverIPv6$", "-test.v")
		cmd.Env = append(os.Environ(), inNetwork+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"-4", "addr", "flush", "dev", "lo"},
		{"addr", "add", "fd00:77::1/128", "dev", "lo", "nodad"},
		{"addr", "add", "fd00:77::2/128", "dev", "lo", "nodad"},
		{"addr", "add", "fd00:77::3/128", "dev", "lo", "nodad"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	g := newGroupOn(t, "fd00:77::%d", Fast, "key", "key", "key")
	for _, s := range g.all {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
	g.all[2].crash()
	g.sees(g.all[0], "n0:active", "n1:active")
	if died := g.all[0].Snapshot().Dead["n2"]; died.IsZero() || time.Since(died) > patience {
		t.Errorf("n2 died at %v", died)
	}
	g.all[1].Drain()
	g.sees(g.all[0], "n0:active", "n1:draining")
	if err := g.all[1].Stop(); err != nil {
		t.Error(err)
	}
	g.sees(g.all[0], "n0:active")
	if dead := g.all[0].Snapshot().Dead; len(dead) != 1 || dead["n2"].IsZero() {
		t.Errorf("who leaves on purpose is not dead, but these are: %v", dead)
	}
}

// TestProfiles has speakers of all profiles understand each other, and keeps the
// times in mind that the documentation tells.
func TestProfiles(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	for i, p := range []Profile{LAN, WAN} {
		g.profile = p
		g.start(i+1, "key")
	}
	for _, s := range g.all {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
	if err := g.all[2].Stop(); err != nil {
		t.Error(err)
	}
	g.sees(g.all[0], "n0:active", "n1:active")
	for p, want := range map[Profile]struct{ probe, suspicion time.Duration }{
		Fast: {250 * time.Millisecond, 750 * time.Millisecond}, "": {250 * time.Millisecond, 750 * time.Millisecond},
		LAN: {time.Second, 4 * time.Second}, WAN: {5 * time.Second, 30 * time.Second},
	} {
		cfg := p.config()
		if got := time.Duration(cfg.SuspicionMult) * cfg.ProbeInterval; cfg.ProbeInterval != want.probe || got != want.suspicion || cfg.SuspicionMaxTimeoutMult != 2 {
			t.Errorf("profile %q probes every %v and waits %v, want %+v", p, cfg.ProbeInterval, got, want)
		}
	}
	var read Profile
	if err := read.UnmarshalText([]byte("wan")); err != nil || read != WAN {
		t.Errorf("wan is read as %q, %v", read, err)
	}
	if err := read.UnmarshalText([]byte("slow")); err == nil {
		t.Error("slow is taken for a profile")
	}
}
