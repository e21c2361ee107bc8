package haproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
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
		return eachLine(body, func(l string) { readLimitLine(st, l) })
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
	return read(response.Body)
}

// readLimitLine reads `haproxy_server_limit_sessions{proxy="B",server="S"} 10`.
// Servers without a limit have NaN.
func readLimitLine(st *plan.State, l string) {
	rest, ok := strings.CutPrefix(l, limitMetric+`{proxy="`)
	if !ok {
		return
	}
	backend, rest, _ := strings.Cut(rest, `",server="`)
	server, value, _ := strings.Cut(rest, `"} `)
	b := st.Backends[backend]
	if b == nil {
		return
	}
	s, ok := b.Servers[server]
	limit, err := strconv.Atoi(strings.TrimSpace(value))
	if !ok || err != nil {
		return
	}
	s.MaxConn = limit
	b.Servers[server] = s
}

// Columns of "show stat" (HAProxy management guide 9.1).
const (
	statName   = 0
	statRow    = 1
	statStatus = 17
)

// Inspect adds to a state what takes HAProxy longer to tell: which backends are
// published, and which frontends take no connections. That is 0.2 s at 10,000
// backends, during which it serves on.
func (r *Runtime) Inspect(st *plan.State) error {
	const frontends, both = "1", "3"
	types := frontends
	if r.caps.DynamicBackends {
		types = both
	}
	st.Paused = map[string]struct{}{}
	return r.stream("show stat -1 "+types+" -1", func(l string) {
		f := strings.SplitN(l, ",", statStatus+2)
		if len(f) < statStatus+2 {
			return
		}
		switch f[statRow] {
		case "FRONTEND":
			if f[statStatus] != "OPEN" {
				st.Paused[f[statName]] = struct{}{}
			}
		case "BACKEND":
			if b := st.Backends[f[statName]]; b != nil {
				b.Unpublished = strings.Contains(f[statStatus], "UNPUB")
			}
		}
	})
}

// stream runs a command whose answer is too long to be held.
func (r *Runtime) stream(command string, line func(string)) error {
	return r.answer(command, func(from io.Reader) error { return eachLine(from, line) })
}

// answer runs a command and hands its answer on as it comes, which the library
// would gather first.
func (r *Runtime) answer(command string, read func(io.Reader) error) error {
	r.Commands++
	path := filepath.Join(r.layout.RunDir(), "admin.sock")
	conn, err := net.DialTimeout("unix", path, readLimit)
	if err != nil {
		// A worker that takes over from another one replaces the socket.
		conn, err = net.DialTimeout("unix", path, readLimit)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(readLimit)); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return read(conn)
}

func eachLine(from io.Reader, line func(string)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		l, err := lines.ReadString('\n')
		line(strings.TrimRight(l, "\n"))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}
