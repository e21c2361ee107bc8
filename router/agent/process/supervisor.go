package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// Supervisor keeps the workers running.
type Supervisor struct {
	// Command returns the command of a worker, without files.
	Command func(worker string) *exec.Cmd
	// Dir is the folder of the sockets; Snapshot is the file, in a folder in memory.
	Dir, Snapshot string
	Log           *slog.Logger
	// Silence is how long a worker may be silent; default is a second.
	Silence time.Duration
	// Drain is how long the workers serve on while HAProxy is still connected.
	Drain time.Duration

	loading sync.Mutex // one snapshot at a time
	mu      sync.Mutex
	workers map[string]*child
	// troubles are what each worker said last, or the one before it.
	troubles map[string]snapshot.Troubles
	load     int
	changed  chan struct{} // closed and replaced at each beat

	up       *prometheus.GaugeVec
	restarts *prometheus.CounterVec
	refused  prometheus.Counter
}

// child is one worker's process.
type child struct {
	name   string
	orders io.WriteCloser
	last   beat
	at     time.Time
	alive  bool
	cmd    *exec.Cmd
	// err is how the process ended, once ended is closed.
	ended chan struct{}
	err   error
}

const (
	// starting is how long a worker has for its first beat.
	starting = 10 * time.Second
	// longestPause is between a worker's end and its next start.
	longestPause = 100 * time.Millisecond
	// stopTime is how long workers have for their last answers.
	stopTime = 8 * time.Second
)

// Run starts the workers and serves the router until ctx ends and HAProxy has gone.
func (s *Supervisor) Run(ctx context.Context) error {
	if s.Silence <= 0 {
		s.Silence = time.Second
	}
	s.workers, s.changed, s.troubles = map[string]*child{}, make(chan struct{}), map[string]snapshot.Troubles{}
	registry := prometheus.NewRegistry()
	s.register(registry)
	state, err := spop.Listen(s.Dir, StateSocket)
	if err != nil {
		return err
	}
	defer state.Close()
	ml, err := spop.Listen(s.Dir, MetricsSocket)
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: promhttp.HandlerFor(s.gatherers(registry), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}), ReadHeaderTimeout: time.Second}
	go func() { _ = hs.Serve(ml) }()
	defer hs.Close()
	// Workers live until they are told to end, not with ctx.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, name := range Workers() {
		running.Go(func() { s.keep(working, name) })
	}
	go s.serve(working, state)
	<-ctx.Done()
	s.Log.Info("stopping when HAProxy has gone", "longest", s.Drain)
	s.drain()
	stop()
	running.Wait()
	return nil
}

func (s *Supervisor) register(r prometheus.Registerer) {
	s.up = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_agent_up", Help: "Whether the worker answers."}, []string{"worker"})
	s.restarts = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_agent_restarts_total", Help: "How often the worker was started again."}, []string{"worker"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_agent_snapshot_refused_total", Help: "Snapshots that were damaged or not understood; the one before stayed."}, []string{"worker"})
	s.refused = refused.WithLabelValues("supervisor")
	r.MustRegister(s.up, s.restarts, refused)
	for _, w := range Workers() {
		s.up.WithLabelValues(w).Set(0)
		s.restarts.WithLabelValues(w).Add(0)
	}
}

// keep starts a worker again whenever it ends.
func (s *Supervisor) keep(ctx context.Context, name string) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		err := s.once(ctx, name)
		s.up.WithLabelValues(name).Set(0)
		if ctx.Err() != nil {
			return
		}
		if pause = min(2*pause+10*time.Millisecond, longestPause); time.Since(began) > 10*time.Second {
			pause = 0
		}
		s.restarts.WithLabelValues(name).Inc()
		s.Log.Error("a worker of the policy agent ended; starting it again", "worker", name, "pause", pause, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// once runs a worker until it ends, is silent, or ctx ends.
func (s *Supervisor) once(ctx context.Context, name string) error {
	cmd := s.Command(name)
	orders, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer out.Close()
	cmd.ExtraFiles = []*os.File{in}
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	c := &child{name: name, orders: orders, cmd: cmd, at: time.Now().Add(starting - s.Silence), ended: make(chan struct{})}
	s.set(func() { s.workers[name] = c })
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	go s.listen(out, c)
	err = s.watch(ctx, c)
	s.set(func() { delete(s.workers, name) })
	return err
}

// watch waits for a worker's end, and ends it if it is silent.
func (s *Supervisor) watch(ctx context.Context, c *child) error {
	tick := time.NewTicker(s.Silence / 10)
	defer tick.Stop()
	for {
		select {
		case <-c.ended:
			return c.err
		case <-ctx.Done():
			_, _ = io.WriteString(c.orders, "stop\n")
			select {
			case <-c.ended:
			case <-time.After(stopTime):
				_ = c.cmd.Process.Kill()
				<-c.ended
			}
			return nil
		case <-tick.C:
			s.mu.Lock()
			silent := time.Since(c.at)
			s.mu.Unlock()
			if silent > s.Silence {
				_ = c.cmd.Process.Kill()
				<-c.ended
				return fmt.Errorf("it was silent for %v", silent.Round(time.Millisecond))
			}
		}
	}
}

// listen takes in what a worker reports.
func (s *Supervisor) listen(out io.Reader, c *child) {
	in := bufio.NewScanner(out)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var b beat
		if json.Unmarshal(in.Bytes(), &b) != nil {
			continue
		}
		s.up.WithLabelValues(c.name).Set(1)
		s.set(func() {
			if b.Troubles != nil {
				s.troubles[c.name], b.Troubles = *b.Troubles, nil
			}
			c.last, c.at, c.alive = b, time.Now(), true
		})
	}
}

// set changes the state and wakes those that wait for a change.
func (s *Supervisor) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve takes snapshots from the router, one connection at a time for each.
func (s *Supervisor) serve(ctx context.Context, l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			s.converse(ctx, c)
		}()
	}
}

// converse takes snapshots on one connection until one is damaged.
func (s *Supervisor) converse(ctx context.Context, c *net.UnixConn) {
	in := bufio.NewReader(c)
	for {
		_ = c.SetReadDeadline(time.Time{})
		if _, err := in.Peek(1); err != nil {
			return
		}
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		whole, err := snapshot.Read(in)
		var r Reply
		switch {
		case err == nil && snapshot.Empty(whole): // only a question
			r = s.state()
		case err == nil:
			r = s.Load(ctx, whole)
		default:
			s.refused.Inc()
			s.Log.Error("a snapshot is refused; the one before stays", "err", err)
			r = Reply{Error: err.Error()}
		}
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, werr := c.Write(encode(r)); werr != nil || err != nil {
			return // after damage the beginning of the next one is unknown
		}
	}
}

// Load takes an encoded snapshot in, and waits until the workers decide by it.
func (s *Supervisor) Load(ctx context.Context, whole []byte) Reply {
	s.loading.Lock()
	defer s.loading.Unlock()
	decoded, err := snapshot.Decode(whole)
	if err == nil {
		err = s.write(whole)
	}
	if err != nil {
		s.refused.Inc()
		s.Log.Error("a snapshot is refused; the one before stays", "err", err)
		return Reply{Error: err.Error(), Generations: s.generations()}
	}
	s.set(func() {
		s.load++
		for _, c := range s.workers {
			_, _ = fmt.Fprintf(c.orders, "load %d\n", s.load) // a worker that has ended loads it when it starts
		}
	})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.wait(ctx, decoded.Generation)
}

// write keeps the snapshot for workers that start. The file is whole at any time.
func (s *Supervisor) write(whole []byte) error {
	fresh := s.Snapshot + ".new"
	if old, err := os.ReadFile(s.Snapshot); err == nil && bytes.Equal(old, whole) {
		return nil
	}
	if err := errors.Join(os.WriteFile(fresh, whole, 0o600), os.Rename(fresh, s.Snapshot)); err != nil {
		return fmt.Errorf("keep the snapshot: %w", err)
	}
	return nil
}

// drain waits until HAProxy has neither connections nor checks for two seconds.
func (s *Supervisor) drain() {
	const quietFor = 2 * time.Second
	end := time.Now().Add(s.Drain)
	var seen uint64
	quiet := time.Now()
	for time.Now().Before(end) && time.Since(quiet) < quietFor {
		<-time.After(beatEvery)
		s.mu.Lock()
		var accepted uint64
		open := 0
		for _, c := range s.workers {
			accepted += c.last.Accepted
			open += c.last.Connections
		}
		s.mu.Unlock()
		if accepted != seen || open > 0 {
			seen, quiet = accepted, time.Now()
		}
	}
}

// Send sends a snapshot to the agent whose sockets are in dir, and returns what it says.
func Send(ctx context.Context, dir string, s *snapshot.Snapshot) (Reply, error) {
	whole, err := snapshot.Encode(s)
	if err != nil {
		return Reply{}, err
	}
	return Client{Dir: dir}.Send(ctx, whole)
}
