// Command memory measures a speaker's memory with 5,000 Services, which it
// announces by ARP and to three BGP peers. API server, speaker and peers are
// real; they run in a network namespace that ends with the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
)

const (
	inside = "FAIRLEAD_BENCH_MEMORY"
	self   = "198.18.0.1"
)

func main() {
	services := flag.Int("services", 5000, "number of Services")
	profile := flag.String("profile", "", "file for the speaker's heap profile")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if os.Getenv(inside) == "" {
		err = enter()
	} else {
		err = run(ctx, *services, *profile)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/lb/memory:", err)
		os.Exit(1)
	}
}

// enter runs this program again in namespaces of its own.
func enter() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	runtime.LockOSThread() // the signal above comes at the end of this thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("in a network namespace: %w", err)
	}
	return nil
}

func run(ctx context.Context, services int, profile string) error {
	for _, line := range []string{
		"link set lo up", "link add eth0 type veth peer name wire", "link set wire up", "link set eth0 up",
		"addr add " + self + "/24 dev eth0", "addr add 198.18.0.2/32 dev lo", "addr add 198.18.0.3/32 dev lo", "addr add 198.18.0.4/32 dev lo",
	} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	dir, err := os.MkdirTemp("", "fairlead-bench-memory-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	peers, err := startPeers(ctx)
	if err != nil {
		return err
	}
	if err := prepare(ctx, server, services, len(peers)); err != nil {
		return err
	}
	speaker, err := startSpeaker(ctx, server, dir)
	if err != nil {
		return err
	}
	defer func() {
		_ = speaker.Process.Kill()
		_ = speaker.Wait()
	}()
	if err := await(ctx, peers, services); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "speaker.log"))
		return fmt.Errorf("%w\n%s", err, log[max(0, len(log)-3000):])
	}
	wait(ctx, 20*time.Second) // bursts and collections settle
	if profile != "" {
		if out, err := exec.CommandContext(ctx, "curl", "-sSo", profile, "http://127.0.0.1:6060/debug/pprof/heap").CombinedOutput(); err != nil {
			return fmt.Errorf("take a profile: %w: %s", err, out)
		}
	}
	m, err := memory(speaker.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("| memory of a speaker, %d Services by ARP and to %d BGP peers: own; with the program's pages; highest | %d; %d; %d MiB | ≤ 50 MB |\n",
		services, len(peers), m.own, m.resident, m.peak)
	return nil
}

func startSpeaker(ctx context.Context, server *cluster.APIServer, dir string) (*exec.Cmd, error) {
	program := filepath.Join(dir, "speaker")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/speaker").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the speaker: %w: %s", err, out)
	}
	log, err := os.Create(filepath.Join(dir, "speaker.log"))
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "-node-name", "n1", "-bind-address", self, "-memberlist-secret", "", "-pprof-address", "127.0.0.1:6060", "-kubeconfig", server.Kubeconfig())
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the speaker: %w", err)
	}
	return cmd, nil
}

// usage is what a process has resident, in MiB: own is what it has allocated,
// the rest are pages of its program, which the kernel may drop at any time.
type usage struct{ own, resident, peak int }

func memory(pid int) (u usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("read the speaker's memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		for name, into := range map[string]*int{"RssAnon": &u.own, "VmRSS": &u.resident, "VmHWM": &u.peak} {
			var kib int
			if n, _ := fmt.Sscanf(line, name+": %d kB", &kib); n == 1 {
				*into = kib / 1024
			}
		}
	}
	if u.resident == 0 {
		return u, errors.New("read the speaker's memory: it has ended")
	}
	return u, nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
