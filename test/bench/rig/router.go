package rig

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"

	"github.com/fairlead/fairlead/test/wait"
)

// Router is a running router process.
type Router struct {
	// WorkDir is its work directory, Log the file with what it says.
	WorkDir, Log string

	ports Ports
	cmd   *exec.Cmd
	done  chan struct{}
	err   error
}

// Ports are where a router listens on 127.0.0.1.
type Ports struct{ HTTP, HTTPS, Stats int }

// StartRouter starts a router with a work directory of that name, which may be
// that of a former one. It does not wait until it is ready.
func (r *Rig) StartRouter(name string, args ...string) (*Router, error) {
	o, err := r.StartRouterAt("", Ports{HTTPPort, HTTPSPort, StatsPort}, name, args...)
	if err == nil {
		r.router = o
	}
	return o, err
}

// StartRouterAt starts a router beside that of StartRouter, which Stop does not end. An
// empty program is the one that was built.
func (r *Rig) StartRouterAt(program string, ports Ports, name string, args ...string) (*Router, error) {
	binary := cmp.Or(program, os.Getenv(routerVariable))
	if binary == "" {
		return nil, errors.New("start the router: not inside a namespace")
	}
	workDir := filepath.Join(r.work(), name)
	if err := os.MkdirAll(workDir, 0o700); err != nil {
		return nil, fmt.Errorf("start the router: %w", err)
	}
	o := &Router{ports: ports, WorkDir: workDir, Log: filepath.Join(r.Dir, "router.log"), done: make(chan struct{})}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the router: %w", err)
	}
	defer log.Close()
	o.cmd = exec.Command(binary, append([]string{
		"--kubeconfig", r.server.Kubeconfig(), "--name", "default", "--domain", Domain,
		"--haproxy", r.HAProxy, "--work-dir", workDir, "--shutdown-delay", "0s", "--drain-timeout", "5s",
		"--http-port", strconv.Itoa(ports.HTTP), "--https-port", strconv.Itoa(ports.HTTPS), "--stats-port", strconv.Itoa(ports.Stats),
		"--threads", "1", // the processors that a router gets are few, and the file by hand has one thread
	}, args...)...)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the router: %w", err)
	}
	go func() {
		o.err = o.cmd.Wait()
		close(o.done)
	}()
	return o, nil
}

// HAProxy asks the router's HAProxy a question of its runtime interface.
func (o *Router) HAProxy(question string) (string, error) {
	var socket runtime.SingleRuntime
	err := socket.Init(filepath.Join(o.WorkDir, "run", "admin.sock"), 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true})
	if err != nil {
		return "", fmt.Errorf("ask HAProxy: %w", err)
	}
	answer, err := socket.ExecuteWithResponse(question)
	if err != nil {
		return "", fmt.Errorf("ask HAProxy: %w", err)
	}
	return answer, nil
}

// WaitReady waits until the router says that it serves every route.
func (o *Router) WaitReady(ctx context.Context, limit time.Duration) error {
	err := wait.Poll{Limit: limit}.Until(ctx, "the router is ready", func() error {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz/ready", o.ports.Stats))
		if err == nil {
			_ = response.Body.Close() // only the status counts
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(response.Status)
		}
		select {
		case <-o.done:
			return wait.GiveUp(fmt.Errorf("the router ended: %w", o.err))
		default:
			return err
		}
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, o.LogEnd())
	}
	return nil
}

// LogEnd returns the last lines of the router's log.
func (o *Router) LogEnd() string {
	text, err := os.ReadFile(o.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Stop ends the router and its HAProxy as a pod's end does.
func (o *Router) Stop() error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the router: %w", err)
	}
	select {
	case <-o.done:
		return nil
	case <-time.After(30 * time.Second):
		o.Kill()
		return errors.New("the router did not stop within 30 s")
	}
}

// Kill ends the router at once; its HAProxy lives on.
func (o *Router) Kill() {
	_ = o.cmd.Process.Kill() // it may have ended already
	<-o.done
}

// Signal sends the router a signal.
func (o *Router) Signal(s syscall.Signal) error { return o.cmd.Process.Signal(s) }

// Metrics returns the router's own metrics by name and labels, such as
// `fairlead_router_routes{state="served"}`.
func (o *Router) Metrics() (map[string]float64, error) {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", o.ports.Stats))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer response.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		i := strings.LastIndexByte(lines.Text(), ' ')
		if i < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if v, err := strconv.ParseFloat(lines.Text()[i+1:], 64); err == nil {
			values[lines.Text()[:i]] = v
		}
	}
	return values, lines.Err()
}

// Sum adds up the metrics whose name starts with a prefix.
func Sum(metrics map[string]float64, prefix string) float64 {
	total := 0.0
	for name, v := range metrics {
		if strings.HasPrefix(name, prefix) {
			total += v
		}
	}
	return total
}

// Backends returns how many route backends HAProxy has, by kind such as
// "be_edge_http", from its own metrics.
func (o *Router) Backends() (map[string]int, error) {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy?scope=backend&metrics=haproxy_backend_sessions_total", o.ports.Stats))
	if err != nil {
		return nil, fmt.Errorf("read HAProxy's metrics: %w", err)
	}
	defer response.Body.Close()
	kinds := map[string]int{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), `proxy="be_`); ok && strings.HasPrefix(lines.Text(), "haproxy_backend_sessions_total{") {
			kind, _, _ := strings.Cut(rest, ":")
			kinds["be_"+kind]++
		}
	}
	return kinds, lines.Err()
}
