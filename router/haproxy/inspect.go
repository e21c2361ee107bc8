package haproxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/fairlead/fairlead/router/plan"
)

// readLimit bounds how long HAProxy may take for one answer.
const readLimit = 30 * time.Second

// limitMetric is the only way to read a server's maxconn cheaply: 15 ms for
// 10,000 servers, of which "show stat" would take 100 ms (3.4.7).
const limitMetric = "haproxy_server_limit_sessions"

// readLimits reads the limits of servers' connections.
func (r *Runtime) readLimits(st *plan.State) error {
	return r.limits(func(body io.Reader) error {
		return r.eachBytes(body, func(l []byte) { readLimitLine(st, l) })
	})
}

// limits asks HAProxy's exporter for the limits of servers' connections.
func (r *Runtime) limits(read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://haproxy/metrics?scope=server&metrics="+limitMetric, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", limitMetric, err)
	}
	socket := filepath.Join(r.layout.RunDir(), "stats.sock")
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("%w: statistics socket: %w", ErrGone, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: statistics socket answers %s", ErrGone, response.Status)
	}
	return read(&bounded{response.Body, maxAnswer})
}

// readLimitLine takes a line of the exporter in.
func readLimitLine(st *plan.State, l []byte) {
	backend, server, value, ok := parseLimit(l)
	if !ok {
		return
	}
	if b := st.Backends[string(backend)]; b == nil {
		st.Repairs = append(st.Repairs, plan.ServerMaxConn{Backend: string(backend), Name: string(server)})
	} else if s := b.Servers.Get(string(server)); s != nil {
		s.MaxConn = number(value)
	}
}

// parseLimit reads `haproxy_server_limit_sessions{proxy="B",server="S"} 10`. It
// reports false for servers without a limit, which have NaN.
func parseLimit(l []byte) (backend, server, value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(l, []byte(limitMetric+`{proxy="`))
	if !ok {
		return nil, nil, nil, false
	}
	backend, rest, _ = bytes.Cut(rest, []byte(`",server="`))
	server, value, _ = bytes.Cut(rest, []byte(`"} `))
	return backend, server, value, number(value) > 0
}

// Columns of "show stat" (HAProxy management guide 9.1).
const (
	statName   = 0
	statRow    = 1
	statLimit  = 6
	statStatus = 17
)

// proxyRow is a line of "show stat" as far as it is read.
type proxyRow struct {
	name, status []byte
	frontend     bool
	limit        int
}

func parseProxy(l []byte) (row proxyRow, ok bool) {
	var f [statStatus + 1][]byte
	for i := range f {
		if f[i], l, ok = bytes.Cut(l, []byte(",")); !ok {
			return proxyRow{}, false
		}
	}
	row = proxyRow{name: f[statName], status: f[statStatus], frontend: string(f[statRow]) == "FRONTEND", limit: number(f[statLimit])}
	return row, row.frontend || string(f[statRow]) == "BACKEND"
}

// shutDown is why there must be a new process after "shutdown frontend", which
// HAProxy does not take back.
const shutDown = "a frontend was shut down by the runtime socket"

// repairs returns what makes a frontend as it was at the start: open, and with
// the limit of the process. There is no step for one that was shut down.
func (p *proxyRow) repairs(limit int) (steps []plan.Step, broken string) {
	if !p.frontend {
		return nil, ""
	}
	switch string(p.status) {
	case "OPEN":
	case "STOP":
		return nil, shutDown
	default:
		steps = append(steps, plan.FrontendEnable{Name: string(p.name)})
	}
	if p.limit != limit {
		steps = append(steps, plan.LimitSet{What: "maxconn frontend " + string(p.name), Value: limit})
	}
	return steps, ""
}

// unpublished reports whether a backend gets no requests.
func (p *proxyRow) unpublished() bool {
	return !p.frontend && bytes.Contains(p.status, []byte("UNPUB"))
}

// proxies asks for what there is to know of frontends, and where that can
// change, of backends: 0.2 s at 10,000 of them, during which HAProxy serves on.
func (r *Runtime) proxies(each func(proxyRow)) error {
	const frontends, both = "1", "3"
	types := frontends
	if r.caps.DynamicBackends {
		types = both
	}
	return r.streamBytes("show stat -1 "+types+" -1", func(l []byte) {
		if row, ok := parseProxy(l); ok {
			each(row)
		}
	})
}

// Inspect adds to a state what takes HAProxy longer to report: which backends are
// published, which certificates and CA bundles are not those that another state
// has under their names, and what another program changed in what HAProxy started with.
func (r *Runtime) Inspect(st, known *plan.State) error {
	steps, limit, err := r.processLimits()
	if err != nil {
		return err
	}
	st.Repairs = append(st.Repairs, steps...)
	if err := r.proxies(func(p proxyRow) {
		if b := st.Backends[string(p.name)]; b != nil {
			b.Unpublished = p.unpublished()
			return
		}
		steps, broken := p.repairs(limit)
		st.Repairs, st.Broken = append(st.Repairs, steps...), cmp.Or(st.Broken, broken)
	}); err != nil {
		return err
	}
	return r.markAltered(st, known)
}

// stream runs a command whose answer is too long to be held. Long answers do not
// go through the typed calls of the library (v5.1.15; HAProxy 3.4.7, 10,000 entries,
// BenchmarkLibrary):
//
//   - Maps take 5.6 MB and 20,000 allocations, here 22: it holds the whole answer and
//     a value for each entry. A value ends at its first space, and a key without
//     value panics.
//   - Servers take 11 MB and 30,000 allocations, here 22, without weights, states of
//     checks and backends.
//   - Lists of certificates take 60 MB and 0.8 s: it compiles a regular expression for
//     each line.
//   - There is no bound for an answer, and one that a read error cut off counts as
//     whole.
func (r *Runtime) stream(command string, line func(string)) error {
	return r.answer(command, func(from io.Reader) error { return eachLine(&bounded{from, maxKeptState}, line) })
}

// streamBytes is stream for callers that copy what they keep.
func (r *Runtime) streamBytes(command string, line func([]byte)) error {
	return r.answer(command, func(from io.Reader) error { return r.eachBytes(from, line) })
}

// answer runs a command and hands its answer on as it comes, which the library
// would gather first.
func (r *Runtime) answer(command string, read func(io.Reader) error) error {
	r.Commands++
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(readLimit)); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return read(&bounded{conn, maxAnswer})
}

// eachBytes is eachLine without garbage: a line is valid until the next one.
// None of HAProxy's is as long as the buffer; if one were, it would come in
// pieces.
func (r *Runtime) eachBytes(from io.Reader, line func([]byte)) error {
	r.lines.Reset(from)
	defer r.lines.Reset(nil)
	for {
		l, err := r.lines.ReadSlice('\n')
		line(bytes.TrimRight(l, "\r\n"))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			return err //nolint:wrapcheck // it is this package's own
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}

// These bound what is read of one answer, of a line, and of an answer that is
// kept: some ten times what 10,000 routes take, and more than HAProxy's largest
// buffer. A HAProxy that has been taken over must not fill the router's memory.
const (
	maxAnswer    = 1 << 30
	maxKeptLine  = 1 << 20
	maxKeptState = 256 << 20
)

// errTooLong is an answer that no HAProxy gives.
var errTooLong = errors.New("HAProxy's answer is too long")

// bounded is a reader that fails after so many bytes.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err //nolint:wrapcheck // the end of a stream is io.EOF itself
}

func eachLine(from io.Reader, line func(string)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxKeptLine)
	for lines.Scan() {
		line(lines.Text())
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong), errors.Is(err, errTooLong):
		return errTooLong
	case err != nil:
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}
