package netmonitor

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

const (
	// kept is for how long frames are remembered: longer than a request takes.
	kept = 30 * time.Second
	// near is how far a connection's numbers may be from its first: requests
	// and answers are short.
	near = 8192
	// pathLimit is how many frames of one request are told at most.
	pathLimit = 60
)

// recorder remembers what the taps heard of late.
type recorder struct {
	mu sync.Mutex
	// frames come in pieces of the same size, the oldest first, so that none is
	// ever moved.
	frames [][]frame
	// heard is when the last frame passed the client's wire.
	heard time.Time
	cards map[mac]string // the hosts that they belong to
	names map[string]func(int) string
}

// piece is how many frames are forgotten together.
const piece = 4096

func (r *recorder) add(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.frames) - 1; last < 0 || len(r.frames[last]) == piece {
		for len(r.frames) > 0 && f.at.Sub(r.frames[0][piece-1].at) > kept {
			r.frames = slices.Delete(r.frames, 0, 1)
		}
		r.frames = append(r.frames, make([]frame, 0, piece))
	}
	last := len(r.frames) - 1
	r.frames[last] = append(r.frames[last], f)
	if f.host == client {
		r.heard = f.at
	}
}

// all are the frames that are remembered; r.mu must be held.
func (r *recorder) all() iter.Seq[*frame] {
	return func(yield func(*frame) bool) {
		for _, part := range r.frames {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// await waits until the client's wire is heard up to that time: with requests all
// the time, something is heard all the time.
func (r *recorder) await(until time.Time, limit time.Duration) {
	// If nothing comes until the limit, the request is explained by what was heard.
	_ = wait.Poll{Limit: limit, Every: 20 * time.Millisecond}.Until(context.Background(), "later packets", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return wait.True(r.heard.After(until))
	})
}

// connection returns all frames of the client's connection from a port, on all
// hosts and whatever their addresses were translated to. Its sequence numbers
// tell: translation leaves them alone.
func (r *recorder) connection(port uint16, since time.Time) []frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *frame
	for f := range r.all() {
		if f.tcp && f.host == client && f.out && f.from.Port() == port && f.flags&flagSYN != 0 && !f.at.Before(since) {
			first = f
			break
		}
	}
	if first == nil {
		return nil
	}
	// What was not of this connection but went between the same ends counts
	// too: the answer of a host that remembers an earlier one.
	pairs := map[[2]netip.AddrPort]bool{}
	for f := range r.all() {
		if f.tcp && !f.at.Before(first.at) && (f.seq-first.seq < near || f.flags&flagACK != 0 && f.ack-first.seq < near) {
			pairs[ends(*f)] = true
		}
	}
	var all []frame
	for f := range r.all() {
		if f.tcp && !f.at.Before(first.at) && pairs[ends(*f)] {
			all = append(all, *f)
		}
	}
	slices.SortStableFunc(all, func(a, b frame) int { return a.at.Compare(b.at) })
	return all
}

// ends are both addresses of a packet, whichever way it goes.
func ends(f frame) [2]netip.AddrPort {
	if f.from.Compare(f.to) < 0 {
		return [2]netip.AddrPort{f.from, f.to}
	}
	return [2]netip.AddrPort{f.to, f.from}
}

// torn says whether a connection's packets went to more than one host, because
// the address moved between them: as the client sent them, or a router on the way.
func torn(connection []frame) bool {
	if len(connection) == 0 {
		return false
	}
	first := connection[0]
	to := map[string]mac{}
	for _, f := range connection {
		if !f.out || f.from != first.from || f.to != first.to || f.host != client && f.host != router {
			continue
		}
		if before, known := to[f.host]; known && before != f.mac {
			return true
		}
		to[f.host] = f.mac
	}
	return false
}

// tell lists where the packets of a connection were seen.
func (r *recorder) tell(connection []frame) []string {
	if len(connection) == 0 {
		return []string{"no packet of it left the client"}
	}
	start := connection[0].at
	var lines []string
	for _, f := range connection[:min(len(connection), pathLimit)] {
		way := "in"
		if f.out {
			way = "out"
		}
		lines = append(lines, fmt.Sprintf("%9.3f ms  %-6s %-12s %-3s  %-21s > %-21s %-7s to %s",
			float64(f.at.Sub(start).Microseconds())/1000, f.host, r.names[f.host](f.ifindex), way, f.from, f.to, flags(f.flags), r.owner(f.mac)))
	}
	if more := len(connection) - pathLimit; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

func (r *recorder) owner(m mac) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if host := r.cards[m]; host != "" {
		return host
	}
	return m.String()
}

func flags(b byte) string {
	var names []string
	for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK"} {
		if b&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// claims tells who said lately to own the address.
func (r *recorder) claims(addr netip.Addr, from, to time.Time) []string {
	r.mu.Lock()
	var frames []frame
	for f := range r.all() {
		if !f.tcp && f.from.Addr() == addr && !f.at.Before(from) && !f.at.After(to) {
			frames = append(frames, *f)
		}
	}
	r.mu.Unlock()
	var lines []string
	last := ""
	for _, f := range frames {
		what := "answers"
		if f.from.Addr() == f.to.Addr() {
			what = "announces itself"
		}
		if line := r.owner(f.owner) + " " + what; line != last {
			lines = append(lines, fmt.Sprintf("%9.3f ms  ARP: %s", float64(f.at.Sub(from).Microseconds())/1000, line))
			last = line
		}
	}
	return lines
}
