package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/full"
)

var (
	killTime = flag.Duration("kill-time", 0, "how long TestKilledParts kills parts of a router; 20s if it is not set, 30m with -full")
	killRate = flag.Int("kill-rate", 0, "how many requests a second it sends meanwhile; 200 if it is not set, 1000 with -full")
	killSeed = flag.Uint64("kill-seed", uint64(time.Now().UnixNano()), "the order in which it kills them")
)

// partEnv makes the test's own program a part of a router that is killed: the supervisor of the
// policy agent, or the router process. It names the file of a part.
const partEnv = "FAIRLEAD_CASES_PART"

// part is what such a program needs to know.
type part struct {
	Router           bool
	Dir, Run, Binary string
	HTTP, HTTPS      int
	Services         []string
	Objects          string
	Certificate, Key string
}

// runPart is a part's main, if the program was started as one.
func runPart() (is bool) {
	file := os.Getenv(partEnv)
	if file == "" {
		return false
	}
	text, err := os.ReadFile(file)
	var p part
	if err = errors.Join(err, json.Unmarshal(text, &p)); err == nil {
		if p.Router {
			err = p.router()
		} else {
			err = p.agent()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
	return true
}

func (p *part) agent() error {
	file := filepath.Join(p.Dir, "agent-snapshot")
	s := &process.Supervisor{
		Dir: p.Run, Snapshot: file, Log: slog.New(slog.DiscardHandler), Silence: 2 * time.Second,
		Command: func(name string) *exec.Cmd {
			c := exec.Command("/proc/self/exe")
			c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, partEnv+"=") }), workerEnv+"="+strings.Join([]string{name, p.Run, file}, "|"))
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return c
		},
	}
	return s.Run(context.Background())
}

func (p *part) router() error {
	s := &step{name: "part", checks: map[string][]string{}}
	cert, err := certificate.Default(p.Certificate, p.Key)
	if err := errors.Join(err, s.services(p.Services), s.objects(p.Objects)); err != nil {
		return err
	}
	b := &bed{cluster: newMemory(), layout: render.Layout{Dir: p.Dir, Run: p.Run}, http: p.HTTP, https: p.HTTPS, agent: &agentBed{dir: p.Run}}
	b.cluster.apply(s.change)
	if b.caps, _, err = haproxy.Detect(context.Background(), p.Binary); err != nil {
		return err
	}
	e, err := engine.New(engine.Options{
		Doors: frontDoors(), Agent: b.agent.client(), Sessions: b.agent.sessionKeys, Replicas: b.agent.others, Cluster: b.cluster, Statuses: b.cluster, Layout: b.layout, Caps: b.caps,
		Binary: p.Binary, Settings: b.settings, Certificate: cert, Log: slog.New(slog.DiscardHandler), Metrics: engine.NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		return err
	}
	return e.Run(context.Background())
}

// kept is a process that is started again when it ends, as kubelets do.
type kept struct {
	mu  sync.Mutex
	cmd *exec.Cmd
}

func keep(t *testing.T, p part) *kept {
	t.Helper()
	text, err := json.Marshal(p)
	file := filepath.Join(t.TempDir(), "part")
	if err = errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	t.Cleanup(background(func(ctx context.Context) {
		for ctx.Err() == nil {
			c := exec.CommandContext(ctx, "/proc/self/exe")
			c.Env = append(os.Environ(), partEnv+"="+file)
			c.Stderr = os.Stderr
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			k.mu.Lock()
			err := c.Start()
			k.cmd = c
			k.mu.Unlock()
			if err == nil {
				_ = c.Wait()
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}))
	return k
}

func (k *kept) pid() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cmd == nil || k.cmd.Process == nil {
		return 0
	}
	return k.cmd.Process.Pid
}

const killedObjects = `
kind: Secret
metadata: {namespace: kp, name: users}
data: {auth: YW5uOntTSEF9RWZhdGpzVXFLWVNycXYxOE8xRmxBM2hjSUhJPQo=}
---
kind: Route
metadata: {namespace: kp, name: open}
spec: {host: open.kp.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: kp, name: basic, annotations: {fairlead.dev/basic-secret: users}}
spec: {host: basic.kp.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: kp, name: asked, annotations: {fairlead.dev/auth-url: auth/check}}
spec: {host: asked.kp.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: kp, name: listed, annotations: {fairlead.dev/allow: 198.51.100.0/24}}
spec: {host: listed.kp.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: kp, name: admin, annotations: {fairlead.dev/basic-secret: users}}
spec: {host: open.kp.test, path: /admin, to: {kind: Service, name: web}}`

// killedBed is a router whose parts are processes that can be killed.
type killedBed struct {
	*bed
	agentPart, routerPart *kept
	kills                 map[string]int
}

func newKilledBed(t *testing.T) *killedBed {
	t.Helper()
	b := &killedBed{bed: newBed(t, "haproxy", newMemory()), kills: map[string]int{}}
	b.agent = &agentBed{dir: b.layout.Run}
	leaf := pki().leaf(t, "default")
	p := part{
		Dir: b.layout.Dir, Run: b.layout.Run, Binary: b.binary, HTTP: b.http, HTTPS: b.https, Objects: killedObjects, Certificate: leaf.certPEM, Key: leaf.keyPEM,
		Services: []string{"kp/web http=8080 web@198.18.250.73", "kp/auth http=8080 auth@198.18.250.74"},
	}
	s := &step{name: "pods", checks: map[string][]string{}}
	if err := s.services(p.Services); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.change.put {
		ensurePods(t, o)
	}
	b.startSupervisor()
	b.agentPart = keep(t, p)
	p.Router = true
	b.routerPart = keep(t, p)
	b.serves(t)
	return b
}

// serves waits until those who may come in do.
func (b *killedBed) serves(t *testing.T) {
	t.Helper()
	for _, r := range killedRequests() {
		if r.in {
			b.eventually(r.host+" answers", func() error {
				if got := r.do(b.http, b.https); got.pod == nil {
					return fmt.Errorf("status %d, %w", got.status, got.err)
				}
				return nil
			})
		}
	}
}

// killedRequest is a request, and whether it comes in.
type killedRequest struct {
	request
	in bool
}

func killedRequests() []killedRequest {
	get := func(in bool, host, target string, header ...string) killedRequest {
		return killedRequest{request{method: http.MethodGet, host: host + ".kp.test", target: target, header: header}, in}
	}
	return []killedRequest{
		get(true, "open", "/"), get(true, "basic", "/", annPassword), get(true, "open", "/admin/x", annPassword), get(true, "asked", "/", "Authorization: Bearer good"),
		get(false, "basic", "/"), get(false, "basic", "/", "Authorization: Basic YW5uOndyb25n"), get(false, "open", "/admin"), get(false, "open", "/%61dmin/x"),
		get(false, "asked", "/"), get(false, "asked", "/", "Authorization: Bearer bad"), get(false, "listed", "/"),
	}
}

// kill ends a part by SIGKILL.
func (b *killedBed) kill(what string) {
	var pids []int
	switch what {
	case "a", "b":
		pids = b.workers(what)
	case "agent":
		pids = []int{b.agentPart.pid()}
	case "router":
		pids = []int{b.routerPart.pid()}
	case "HAProxy":
		pids = b.haproxies()
	}
	for _, pid := range pids {
		if pid > 1 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			b.kills[what]++
		}
	}
}

// workers are the processes of a worker of the agent.
func (b *killedBed) workers(name string) (pids []int) {
	return processes(func(environment, _ string) bool {
		return strings.Contains(environment, workerEnv+"="+name+"|"+b.layout.Run+"|")
	})
}

// haproxies are HAProxy's processes.
func (b *killedBed) haproxies() []int {
	return processes(func(_, command string) bool {
		return strings.HasPrefix(command, b.binary+"\x00") && strings.Contains(command, b.layout.Dir)
	})
}

// processes are those with an environment and a command.
func processes(are func(environment, command string) bool) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if are(string(environment), string(command)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memory is what all parts have of the machine's, in MiB.
func (b *killedBed) memory() (sum int) {
	for _, pid := range slices.Concat(b.workers("a"), b.workers("b"), b.haproxies(), []int{b.agentPart.pid(), b.routerPart.pid()}) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		var size, resident int
		if _, err := fmt.Sscan(string(text), &size, &resident); err == nil {
			sum += resident * os.Getpagesize()
		}
	}
	return sum >> 20
}

// TestKilledParts: while workers and supervisor of the policy agent, the router and HAProxy are
// killed in random order, under load, nothing is let through that should not be; afterwards all is
// served again, and memory has not grown.
func TestKilledParts(t *testing.T) {
	b := newKilledBed(t)
	var let, served, refused, failed atomic.Int64
	end := time.Now().Add(cmp.Or(*killTime, full.Or(30*time.Minute, 20*time.Second)))
	rate := cmp.Or(*killRate, full.Or(1000, 200))
	const clients = 8
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			pace := time.NewTicker(time.Second * clients / time.Duration(rate))
			defer pace.Stop()
			all := killedRequests()
			for n := i; time.Now().Before(end); n++ {
				<-pace.C
				r := &all[n%len(all)]
				switch got := r.do(b.http, b.https); {
				case got.pod != nil && !r.in:
					let.Add(1)
					t.Errorf("let through: %s%s %v", r.host, r.target, r.header)
				case got.pod != nil:
					served.Add(1)
				case r.in:
					failed.Add(1) // its part of the router has just been killed
				default:
					refused.Add(1)
				}
			}
		})
	}
	dice := rand.New(rand.NewPCG(*killSeed, 0))
	parts := []string{"a", "b", "agent", "router", "HAProxy"}
	var memory []int
	for time.Now().Before(end) {
		b.kill(parts[dice.IntN(len(parts))])
		<-time.After(time.Duration(300+dice.IntN(1200)) * time.Millisecond)
		memory = append(memory, b.memory())
	}
	running.Wait()
	t.Logf("seed %d, killed %v; %d requests served, %d refused, %d failed, %d let through; MiB %v", *killSeed, b.kills, served.Load(), refused.Load(), failed.Load(), let.Load(), memory[max(0, len(memory)-20):])
	if served.Load() == 0 || refused.Load() == 0 || len(b.kills) < 2 {
		t.Error("nothing was shown")
	}
	b.serves(t)
	first, second := slices.Max(memory[:len(memory)/2]), slices.Max(memory[len(memory)/2:])
	if second > first+first/4+50 {
		t.Errorf("all parts together had %d MiB in the first half, and %d in the second", first, second)
	}
}
