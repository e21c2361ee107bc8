package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead/fairlead/test/freeport"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// APIServer is etcd and kube-apiserver on loopback ports, without nodes and controllers: for tests of the API and of
// programs that only talk to it. It needs no root and ends with its test, also when that is killed.
type APIServer struct {
	// Server is the base URL.
	Server string

	dir      string
	programs map[string]string
	ports    map[string]string

	mu      sync.Mutex
	running map[string]*guarded
}

// guardScript runs a program and ends it as soon as its own input closes, which the kernel does should the test die.
const guardScript = `exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ cat <&3 >/dev/null; kill -9 $child 2>/dev/null; } &
wait $child`

// lazyCollection lets the programs of Kubernetes collect garbage less often, which saves a fifth of the processor time of an
// API server that starts and is given CRDs, and as much of kubectl's. The limit, of one process, is soft.
func lazyCollection() []string { return []string{"GOGC=400", "GOMEMLIMIT=600MiB"} }

// guarded is a program that runs under the guard script.
type guarded struct {
	cmd   *exec.Cmd
	input io.Closer
	done  chan struct{}
}

// StartAPIServer starts an API server whose files are in dir, which must exist, and waits until it is ready: about two seconds.
// Stop it with Stop.
func StartAPIServer(ctx context.Context, dir string) (*APIServer, error) {
	s := &APIServer{dir: dir, programs: map[string]string{}, ports: map[string]string{}, running: map[string]*guarded{}}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		path, err := toolset.Path(name)
		if err != nil {
			return nil, err
		}
		s.programs[name] = path
	}
	for _, use := range []string{"client", "peer", "api"} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s.ports[use] = port
	}
	s.Server = "https://127.0.0.1:" + s.ports["api"]
	pki, err := newAuthority(filepath.Join(dir, "pki"))
	if err != nil {
		return nil, err
	}
	if err := pki.issue(apiServerIdentity(net.IPv4(127, 0, 0, 1))); err != nil {
		return nil, err
	}
	if err := pki.kubeconfig(identity{file: "admin", name: "admin", group: "system:masters"}, s.Server, dir); err != nil {
		return nil, err
	}
	args := etcdArguments(filepath.Join(dir, "etcd"), "http://127.0.0.1:"+s.ports["client"], "http://127.0.0.1:"+s.ports["peer"])
	if err := s.run("etcd", args); err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func freePort() (string, error) {
	port, err := freeport.TCP()
	return strconv.Itoa(port), err //nolint:wrapcheck // it says what
}

// Start starts kube-apiserver, also again after Kill, and waits until it is ready.
func (s *APIServer) Start(ctx context.Context) error {
	pki := filepath.Join(s.dir, "pki")
	args := append(apiServerArguments(pki, "http://127.0.0.1:"+s.ports["client"], "127.0.0.1", s.ports["api"]),
		"--service-cluster-ip-range="+serviceRange, "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		// No controller makes default service accounts here, and pods are wanted all the same.
		"--disable-admission-plugins=ServiceAccount")
	if err := s.run("kube-apiserver", args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	done := s.running["kube-apiserver"].done
	s.mu.Unlock()
	go func() {
		select {
		case <-done:
			cancel(errors.New("kube-apiserver ended"))
		case <-ctx.Done():
		}
	}()
	if err := waitReady(ctx, s.Server, pki, (&net.Dialer{}).DialContext); err != nil {
		return fmt.Errorf("%w\n%s", err, s.logEnd("kube-apiserver"))
	}
	return nil
}

// Kill ends kube-apiserver by SIGKILL; etcd keeps running.
func (s *APIServer) Kill() error { return s.end("kube-apiserver") }

// Stop ends both programs by SIGKILL.
func (s *APIServer) Stop() error { return errors.Join(s.end("kube-apiserver"), s.end("etcd")) }

func (s *APIServer) run(name string, args []string) error {
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close()
	g := &guarded{cmd: exec.Command("sh", append([]string{"-c", guardScript, "guard", s.programs[name]}, args...)...), done: make(chan struct{})}
	g.cmd.Env = append(os.Environ(), lazyCollection()...)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if g.input, err = g.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := g.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = g.cmd.Wait() // reaps; how it ends says nothing
		close(g.done)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[name] = g
	return nil
}

func (s *APIServer) end(name string) error {
	s.mu.Lock()
	g := s.running[name]
	delete(s.running, name)
	s.mu.Unlock()
	if g == nil {
		return nil
	}
	err := g.input.Close()
	<-g.done
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	return nil
}

func (s *APIServer) logEnd(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name+".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// Port returns the TCP port of the API server.
func (s *APIServer) Port() int {
	port, _ := strconv.Atoi(s.ports["api"]) // a number by construction
	return port
}

// Etcd is the base URL of etcd.
func (s *APIServer) Etcd() string { return "http://127.0.0.1:" + s.ports["client"] }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s *APIServer) Kubeconfig() string { return filepath.Join(s.dir, "admin.conf") }

// RESTConfig returns the administrator's client configuration.
func (s *APIServer) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	return config, nil
}

// Kubectl runs kubectl as the administrator and returns its standard output. The error holds its standard error.
func (s *APIServer) Kubectl(ctx context.Context, args ...string) (string, error) {
	argv := append([]string{"--kubeconfig", s.Kubeconfig(), "--cache-dir", filepath.Join(s.dir, "kubectl-cache")}, args...)
	for {
		cmd := exec.CommandContext(ctx, s.programs["kubectl"], argv...)
		cmd.Env = append(os.Environ(), lazyCollection()...)
		out, err := output(cmd, args)
		// "kubectl wait" gives up at once on an object that has no conditions yet, as a CRD in its
		// first milliseconds.
		if err == nil || ctx.Err() != nil || args[0] != "wait" || !strings.Contains(err.Error(), ".status.conditions accessor error") {
			return out, err
		}
	}
}

// Apply runs kubectl apply for each path: -k for a folder with a kustomization, else -f.
func (s *APIServer) Apply(ctx context.Context, paths ...string) error {
	return applyEach(ctx, paths, s.Kubectl)
}

// output runs a kubectl command; args are what the user would have typed.
func output(cmd *exec.Cmd, args []string) (string, error) {
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return string(out), fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
