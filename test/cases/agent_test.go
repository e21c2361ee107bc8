package cases

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/test/wait"
)

// workerEnv makes the test's own program a worker of the policy agent: its name, the
// folder of the sockets and the file of the snapshot.
const workerEnv = "FAIRLEAD_CASES_AGENT"

// clockEnv names the file of agentBed.clock.
const clockEnv = "FAIRLEAD_CASES_CLOCK"

// aheadBy reads the file of a clock.
func aheadBy(file string) time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return 0
	}
	return d
}

// runAgentWorker is a worker's main, if the supervisor started the program as one.
func runAgentWorker() (is bool) {
	parts := strings.Split(os.Getenv(workerEnv), "|")
	if len(parts) != 3 {
		return false
	}
	w := &process.Worker{
		Name: parts[0], Dir: parts[1], Snapshot: parts[2], Orders: os.Stdin, Beats: os.NewFile(3, "beats"), Log: slog.New(slog.DiscardHandler),
	}
	if clock := os.Getenv(clockEnv); clock != "" {
		w.Now = func() time.Time { return time.Now().Add(aheadBy(clock)) }
	}
	if err := w.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// agentBed is the policy agent of a bed.
type agentBed struct {
	dir  string
	stop func()
	// silence is how long a worker may be silent; default is 2s.
	silence time.Duration
	// clock is a file that says by how much the clock of the workers is ahead; empty for none.
	clock string
	// down keeps workers from starting.
	down atomic.Bool
	// sessions are the keys of sessions.
	sessions atomic.Pointer[[]snapshot.SessionKey]
	// replicas are the routers that count together.
	replicas atomic.Pointer[snapshot.Replicas]
}

// others are the routers that count together with this one.
func (a *agentBed) others() *snapshot.Replicas {
	if a == nil {
		return nil
	}
	return a.replicas.Load()
}

// sessionKeys are the keys of sessions that the router has.
func (a *agentBed) sessionKeys() []snapshot.SessionKey {
	if a == nil || a.sessions.Load() == nil {
		return nil
	}
	return *a.sessions.Load()
}

// sessionKey is a key of sessions of a given age.
func sessionKey(b byte, age time.Duration) snapshot.SessionKey {
	return snapshot.SessionKey{Made: time.Now().Add(-age).Unix(), Secret: bytes.Repeat([]byte{b}, 32)}
}

// startAgent runs the policy agent beside the bed's HAProxy.
func (b *bed) startAgent() {
	b.t.Helper()
	if b.agent == nil {
		b.agent = &agentBed{dir: b.layout.Run}
	}
	if b.agent.sessions.Load() == nil {
		b.agent.sessions.Store(&[]snapshot.SessionKey{sessionKey(1, time.Hour)})
	}
	file := filepath.Join(b.layout.Dir, "..", filepath.Base(b.layout.Dir)+"-snapshot")
	s := &process.Supervisor{
		Dir: b.agent.dir, Snapshot: file, Log: b.logger(), Silence: cmp.Or(b.agent.silence, 2*time.Second),
		Command: func(name string) *exec.Cmd {
			if b.agent.down.Load() {
				return exec.Command("/bin/false")
			}
			c := exec.Command("/proc/self/exe")
			c.Env = append(os.Environ(), workerEnv+"="+strings.Join([]string{name, b.agent.dir, file}, "|"), clockEnv+"="+b.agent.clock)
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return c
		},
	}
	b.agent.stop = background(func(ctx context.Context) {
		if err := s.Run(ctx); err != nil {
			b.logger().Error("agent ended", "err", err)
		}
	})
}

// client is the engine's side of the agent, nil for none.
func (a *agentBed) client() engine.Agent {
	if a == nil {
		return nil
	}
	return process.Client{Dir: a.dir}
}

// socketDir is empty without an agent.
func (a *agentBed) socketDir() string {
	if a == nil {
		return ""
	}
	return a.dir
}

// killWorkers ends the workers, and keeps others from starting until they may.
func (b *bed) killWorkers() {
	b.t.Helper()
	b.agent.down.Store(true)
	b.signalWorkers(syscall.SIGKILL)
}

// signalWorkers sends a signal to the workers.
func (b *bed) signalWorkers(signal syscall.Signal) {
	b.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !strings.Contains(string(env), workerEnv+"=") || !strings.Contains(string(env), "|"+b.agent.dir+"|") {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err == nil {
			_ = syscall.Kill(pid, signal)
		}
	}
}

func (b *bed) get(host string, header ...string) response {
	return (&request{method: http.MethodGet, host: host, target: "/", header: header}).do(b.http, b.https)
}

const annPassword = "Authorization: Basic YW5uOng="

// protectedRoutes are a Secret, a Route with a password and one without.
func protectedRoutes(t *testing.T) *testCase {
	t.Helper()
	for _, c := range loadCases(t) {
		if c.name == "policy-basic" {
			return c
		}
	}
	t.Fatal("there is no case policy-basic")
	return nil
}

// TestAgentEnds: with both workers dead nothing that needs them gets through, whatever
// it shows, and the rest of the host does; when they are back, all is as before without
// a change of any object.
func TestAgentEnds(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.start()
	c := protectedRoutes(t)
	b.apply(c.steps[0].change)
	let := func(want int, header ...string) error {
		if r := b.get("in.pb.test", header...); r.status != want {
			return fmt.Errorf("status %d, want %d", r.status, want)
		}
		return nil
	}
	if err := errors.Join(let(401), let(200, annPassword)); err != nil {
		t.Fatal(err)
	}
	b.killWorkers()
	b.eventually("requests without password get 503", func() error { return let(503) })
	if err := let(200, annPassword); err != nil {
		t.Errorf("the verdict that HAProxy keeps: %v", err)
	}
	for range 50 {
		if err := errors.Join(let(503), let(503, "Authorization: Basic YW5uOndyb25n")); err != nil {
			t.Fatal(err)
		}
		if r := b.get("shop.pb.test"); r.status != 200 {
			t.Fatalf("a route without authentication: status %d", r.status)
		}
	}
	// A new policy while the agent is away: its route is closed until the agent has it.
	b.apply(c.steps[1].change)
	if err := let(503, "Authorization: Basic Ym9iOm5ldw=="); err != nil {
		t.Fatal(err)
	}
	b.eventually("the router says that the agent is behind", func() error { return wait.True(b.gauge("fairlead_router_agent_behind") == 1) })
	b.agent.down.Store(false)
	b.eventually("the new password is right", func() error { return let(200, "Authorization: Basic Ym9iOm5ldw==") })
	b.eventually("the agent decides", func() error { return wait.True(b.gauge("fairlead_router_agent_behind") == 0) })
	if err := errors.Join(let(401), let(401, annPassword)); err != nil {
		t.Fatal(err)
	}
}

// TestAgentLate: a router without its agent serves what needs none, and closes the rest
// until the agent is there.
func TestAgentLate(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.agent = &agentBed{dir: b.layout.Run}
	c := protectedRoutes(t)
	for _, o := range c.steps[0].change.put {
		ensurePods(t, o)
	}
	b.start()
	b.apply(c.steps[0].change)
	if r := b.get("shop.pb.test"); r.status != 200 {
		t.Errorf("a route without authentication: status %d", r.status)
	}
	if r := b.get("in.pb.test", annPassword); r.status != 503 || r.header.Get("Retry-After") != "1" {
		t.Errorf("without an agent: status %d, %v", r.status, r.header)
	}
	b.startAgent()
	b.eventually("the password is right", func() error {
		if r := b.get("in.pb.test", annPassword); r.status != 200 {
			return fmt.Errorf("status %d", r.status)
		}
		return nil
	})
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}
