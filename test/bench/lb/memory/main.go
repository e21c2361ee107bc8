// Command memory measures a speaker's memory with 5,000 Services, which it
// announces by ARP and to three BGP peers: after its first start, when it writes
// all its status objects, and after one that finds them. API server, speaker and
// peers are real; they run in a network namespace that ends with the program.
package main

import (
	"context"
	"encoding/json"
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

	"github.com/fairlead/fairlead/test/bench/lb/memory/usage"
	"github.com/fairlead/fairlead/test/cluster"
)

const (
	inside = "FAIRLEAD_BENCH_MEMORY"
	self   = "198.18.0.1"
)

func main() {
	services := flag.Int("services", 5000, "number of Services")
	profile := flag.String("profile", "", "file for the speaker's heap profile")
	asJSON := flag.Bool("json", false, "write the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if os.Getenv(inside) == "" {
		err = enter()
	} else {
		err = run(ctx, *services, *profile, *asJSON)
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

func run(ctx context.Context, services int, profile string, asJSON bool) error {
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
	b := &bench{dir: dir, program: filepath.Join(dir, "speaker"), server: server, peers: peers, services: services}
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.program, "./cmd/speaker").CombinedOutput(); err != nil {
		return fmt.Errorf("build the speaker: %w: %s", err, out)
	}
	var found struct {
		Start   usage.Usage `json:"start"`
		Restart usage.Usage `json:"restart"`
	}
	if found.Start, err = b.measure(ctx, ""); err != nil {
		return err
	}
	if found.Restart, err = b.measure(ctx, profile); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	fmt.Printf("a speaker with %d Services by ARP and to %d BGP peers: %s; after a restart %s\n", services, len(peers), found.Start, found.Restart)
	return nil
}

// bench is what a speaker runs among.
type bench struct {
	dir, program string
	server       *cluster.APIServer
	peers        []*peer
	services     int
}

// measure starts a speaker and returns what it takes when all is announced and
// Prometheus has asked a few times. It ends the speaker.
func (b *bench) measure(ctx context.Context, profile string) (u usage.Usage, err error) {
	group, err := usage.NewGroup(filepath.Base(b.dir))
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	log, err := os.Create(filepath.Join(b.dir, "speaker.log"))
	if err != nil {
		return u, fmt.Errorf("make a log: %w", err)
	}
	defer log.Close()
	cmd, err := group.Command(b.program, "-node-name", "n1", "-bind-address", self, "-memberlist-secret", "",
		"-pprof-address", "127.0.0.1:6060", "-kubeconfig", b.server.Kubeconfig())
	if err != nil {
		return u, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return u, fmt.Errorf("start the speaker: %w", err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		err = errors.Join(err, await(ctx, b.peers, 0))
	}()
	if err := await(ctx, b.peers, b.services); err != nil {
		text, _ := os.ReadFile(log.Name())
		return u, fmt.Errorf("%w\n%s", err, text[max(0, len(text)-3000):])
	}
	for range 4 { // until what is written is written, too
		wait(ctx, 10*time.Second)
		if err := fetch(ctx, "http://127.0.0.1:7472/metrics", os.DevNull); err != nil {
			return u, err
		}
	}
	if u, err = group.Usage(cmd.Process.Pid); err != nil || profile == "" {
		return u, err
	}
	return u, fetch(ctx, "http://127.0.0.1:6060/debug/pprof/heap", profile)
}

func fetch(ctx context.Context, url, file string) error {
	if out, err := exec.CommandContext(ctx, "curl", "-sSfo", file, url).CombinedOutput(); err != nil {
		return fmt.Errorf("get %s: %w: %s", url, err, out)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
