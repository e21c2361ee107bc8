package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/relay"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/router/spop"
)

// Worker is one of the processes that answer HAProxy.
type Worker struct {
	Name string
	// Dir is the folder of the sockets, Snapshot the file.
	Dir, Snapshot string
	// Orders are lines of the supervisor: "load N", "stop". Their end means that the
	// supervisor has ended.
	Orders io.Reader
	// Beats is where the worker reports.
	Beats io.Writer
	Log   *slog.Logger
	// Special replaces agent.Special in tests, and Now the clock of decisions.
	Special func(netip.Addr) bool
	Now     func() time.Time

	engine  *agent.Engine
	relay   *relay.Relay
	metrics *agent.Metrics
	server  *spop.Server
	checks  uint64

	mu    sync.Mutex
	state beat
	// told is what the supervisor knows of troubles; nil at first.
	told *snapshot.Troubles
}

// mostKeys is how many keys of shared limits a worker counts, and how many it has tokens
// for: some 20 MiB together.
const mostKeys = 50_000

// orphaned is for how long a worker serves on without a supervisor, unless its socket
// is another's by then.
const orphaned = time.Minute

// Run serves until it is told to stop.
func (w *Worker) Run(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	w.metrics = agent.NewMetrics(registry)
	if w.Now == nil {
		w.Now = time.Now
	}
	member := peers.New(w.Log, mostKeys)
	member.Register(registry)
	defer member.Close()
	w.engine = agent.New(agent.Options{Member: member, Worker: slices.Index(Workers(), w.Name), Metrics: w.metrics, Registerer: registry, Log: w.Log, Now: w.Now, Special: w.Special, Renewals: w.folder("renewals"), Ended: w.folder("ended"), Documents: w.folder("documents")})
	relaying, err := w.startRelay(ctx, registry)
	if err != nil {
		return err
	}
	defer relaying()
	// The snapshot comes first: a worker that answers has one, if there is one.
	w.load(0)
	w.server = &spop.Server{Handle: w.engine.Handle, Busy: w.engine.Busy, Panicked: w.panicked, Failed: w.metrics.ProtocolFailed}
	l, err := spop.Listen(w.Dir, DecideSocket(w.Name))
	if err != nil {
		return err
	}
	ml, err := spop.Listen(w.Dir, workerMetrics(w.Name))
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), ReadHeaderTimeout: time.Second}
	go func() { _ = hs.Serve(ml) }()
	defer hs.Close()
	side, err := spop.Listen(w.Dir, SideSocket(w.Name))
	if err != nil {
		return err
	}
	copies := &http.Server{Handler: w.engine.MirrorHandler(), ReadHeaderTimeout: time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}
	go func() { _ = copies.Serve(side) }()
	defer copies.Close()
	served := make(chan struct{})
	go func() { _ = w.server.Serve(ctx, l); close(served) }()
	orders := make(chan string)
	go w.read(orders)
	w.beats(ctx, orders, same(filepath.Join(w.Dir, DecideSocket(w.Name))))
	_ = l.Close()
	<-served
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
	defer cancel()
	w.server.Close(ctx)
	return nil
}

// startRelay relays datagrams until the function that it returns is called.
func (w *Worker) startRelay(ctx context.Context, registry prometheus.Registerer) (stop func(), err error) {
	w.relay, err = relay.New(relay.Options{
		Metrics: relay.NewMetrics(registry), Log: w.Log.With("worker", w.Name), Now: time.Now, Check: w.engine.MayReach,
		Lock: filepath.Join(filepath.Dir(w.Snapshot), "relay.lock"),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.relay.Run(ctx); err != nil {
			w.Log.Error("datagrams are not relayed any more", "worker", w.Name, "err", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}

// folder is one in memory that the workers share, beside the snapshot.
func (w *Worker) folder(name string) string { return filepath.Join(filepath.Dir(w.Snapshot), name) }

func (w *Worker) panicked(v any) {
	w.metrics.Panicked(v)
	w.Log.Error("an answer ended in a panic; the request was refused", "panic", fmt.Sprint(v))
}

func (w *Worker) read(orders chan<- string) {
	in := bufio.NewScanner(w.Orders)
	for in.Scan() {
		orders <- in.Text()
	}
	close(orders)
}

// beats reports and follows orders until the worker has to end.
func (w *Worker) beats(ctx context.Context, orders <-chan string, mine func() bool) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	var alone time.Time
	w.beat(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case order, ok := <-orders:
			switch {
			case !ok:
				// A worker of the next supervisor comes.
				alone, orders = time.Now(), nil
				continue
			case order == "stop":
				return
			}
			var n int
			if _, err := fmt.Sscanf(order, "load %d", &n); err == nil {
				w.load(n)
				w.beat(ctx)
			}
		case <-tick.C:
			if !alone.IsZero() && (!mine() || time.Since(alone) > orphaned) {
				return
			}
			w.beat(ctx)
		}
	}
}

// load takes the file's snapshot into use. One that cannot be used leaves the one
// before.
func (w *Worker) load(number int) {
	state := beat{Load: number}
	s, err := readFile(w.Snapshot)
	switch {
	case errors.Is(err, os.ErrNotExist):
		w.Log.Info("no snapshot yet: all requests are refused", "worker", w.Name)
	case err != nil:
		w.metrics.SnapshotRefused()
		state.Error = err.Error()
		w.Log.Error("the snapshot is not used; the one before stays", "worker", w.Name, "err", err)
	default:
		for id, err := range w.engine.Swap(s) {
			if state.Closed == nil {
				state.Closed = map[string]string{}
			}
			if len(state.Closed) < mostClosed {
				state.Closed[id] = err.Error()
			}
		}
		w.relay.Set(s.Relays)
		w.Log.Info("deciding by a snapshot", "worker", w.Name, "generation", s.Generation, "policies", len(s.Policies), "closed", len(state.Closed), "relays", len(s.Relays))
	}
	w.mu.Lock()
	w.state = state
	w.mu.Unlock()
}

func readFile(path string) (*snapshot.Snapshot, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > snapshot.MaxSize+4096 {
		return nil, fmt.Errorf("the snapshot has %d bytes", info.Size())
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return snapshot.Decode(whole)
}

// beat reports, if the worker's own socket answers. A worker that does not answer
// stays silent and is replaced.
func (w *Worker) beat(ctx context.Context) {
	if !w.answers(ctx) {
		return
	}
	w.mu.Lock()
	b := w.state
	w.mu.Unlock()
	b.Generation, b.Connections = w.engine.Generation(), w.server.Count()
	b.Accepted = w.server.Accepted() - w.checks
	w.engine.Tend()
	b.Troubles = w.news()
	_, _ = w.Beats.Write(encode(b)) // without a supervisor nothing reads it
}

// news are the troubles of now, or nil if the supervisor knows them. A worker that has begun
// says nothing before it has tried, so that what the one before it said holds until then.
func (w *Worker) news() *snapshot.Troubles {
	now, known := w.engine.Troubles()
	if w.told == nil && !known || w.told != nil && w.told.Equal(now) {
		return nil
	}
	w.told = &now
	return w.told
}

// answers makes the same check as HAProxy does.
func (w *Worker) answers(ctx context.Context) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", filepath.Join(w.Dir, DecideSocket(w.Name)))
	if err != nil {
		return false
	}
	w.checks++
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	return spop.Check(c) == nil
}

// Arguments are those of a worker's process.
func (w *Worker) Arguments() []string {
	return []string{"--name", w.Name, "--socket-dir", w.Dir, "--snapshot", w.Snapshot}
}

// Valid reports whether the worker's name is one of those that HAProxy asks.
func (w *Worker) Valid() bool { return slices.Contains(Workers(), w.Name) }
