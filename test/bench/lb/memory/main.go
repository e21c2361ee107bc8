// Command memory measures a speaker's memory with 5,000 Services, which it
// announces by ARP and to three BGP peers: after its first start, when it writes
// all its status objects; after one that finds them; and after a burst of changes,
// in which every Service loses its endpoint and gets another. API server, speaker
// and peers are real; they run in a network namespace that ends with the program.
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
	"github.com/fairlead/fairlead/test/metallbapi"
)

const (
	// inside names the variable with the folder of the speaker's programs, in the namespaces.
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
	speakers, err := os.MkdirTemp("", "fairlead-speaker-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(speakers)
	// Here, where modules can be fetched: the namespace has no way out.
	if out, err := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", speakers+"/", "./cmd/speaker", "./cmd/speaker-bgp").CombinedOutput(); err != nil {
		return fmt.Errorf("build the speaker: %w: %s", err, out)
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"="+speakers)
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
	return metallbapi.With(ctx, ".", func(a *metallbapi.API, dir string) error { return measure(ctx, a, dir, services, profile, asJSON) })
}

// measure starts speakers, one after the other, and tells what they take.
func measure(ctx context.Context, a *metallbapi.API, dir string, services int, profile string, asJSON bool) error {
	peers, err := startPeers(ctx)
	if err != nil {
		return err
	}
	if err := prepare(ctx, a, services, len(peers)); err != nil {
		return err
	}
	b := &bench{dir: dir, program: filepath.Join(os.Getenv(inside), "speaker"), server: a.Server, peers: peers, services: services}
	var found struct {
		Start   usage.Usage `json:"start"`
		Restart usage.Usage `json:"restart"`
		Burst   usage.Usage `json:"burst"`
	}
	if err := b.measure(ctx, "", &found.Start, nil); err != nil {
		return err
	}
	if err := b.measure(ctx, profile, &found.Restart, &found.Burst); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	fmt.Printf("a speaker with %d Services by ARP and to %d BGP peers: %s; after a restart %s; after a burst %s\n",
		services, len(peers), found.Start, found.Restart, found.Burst)
	return nil
}

// bench is what a speaker runs among.
type bench struct {
	dir, program string
	server       *cluster.APIServer
	peers        []*peer
	services     int
}

// measure starts a speaker and finds out what it takes when all is announced and
// Prometheus has asked a few times, and, unless burst is nil, the same after a
// burst of changes. It ends the speaker.
func (b *bench) measure(ctx context.Context, profile string, u, burst *usage.Usage) (err error) {
	group, err := usage.NewGroup(filepath.Base(b.dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	log, err := os.Create(filepath.Join(b.dir, "speaker.log"))
	if err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	defer log.Close()
	args := []string{"-node-name", "n1", "-bind-address", self, "-memberlist-secret", "", "-kubeconfig", b.server.Kubeconfig(), "-metrics-open"}
	if profile != "" { // to be ready for it takes some memory, too
		args = append(args, "-pprof-address", "127.0.0.1:6060")
	}
	cmd, err := group.Command(b.program, args...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the speaker: %w", err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		err = errors.Join(err, await(ctx, b.peers, 0))
	}()
	if err := await(ctx, b.peers, b.services); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-3000):])
	}
	if *u, err = b.settled(ctx, group, cmd.Process.Pid); err != nil {
		return err
	}
	if burst != nil {
		if err := b.burst(ctx); err != nil {
			return err
		}
		if *burst, err = b.settled(ctx, group, cmd.Process.Pid); err != nil {
			return err
		}
	}
	if profile == "" {
		return nil
	}
	return fetch(ctx, "http://127.0.0.1:6060/debug/pprof/heap", profile)
}

// settled returns what the speaker takes when it has written what it has to write,
// and was asked for its metrics.
func (b *bench) settled(ctx context.Context, group *usage.Group, pid int) (usage.Usage, error) {
	for range 4 {
		pause(ctx, 10*time.Second)
		if err := fetch(ctx, "http://127.0.0.1:7472/metrics", os.DevNull); err != nil {
			return usage.Usage{}, err
		}
	}
	return group.Usage(pid)
}

func fetch(ctx context.Context, url, file string) error {
	if out, err := exec.CommandContext(ctx, "curl", "-sSfo", file, url).CombinedOutput(); err != nil {
		return fmt.Errorf("get %s: %w: %s", url, err, out)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
