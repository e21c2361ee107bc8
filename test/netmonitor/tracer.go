package netmonitor

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// explained is how many requests are explained at most, of those that were
	// torn and of the others.
	explained = 12
	// lateness is how long to wait for what is still on its way before a
	// request is explained, by the kernel's time of what was heard, and patience
	// how long a busy machine may take to hear it.
	lateness = 300 * time.Millisecond
	patience = 10 * time.Second
	// rescan is how often to look whether a host has been started again.
	rescan = 250 * time.Millisecond
)

// tracer follows packets through the hosts between the client and the pods.
type tracer struct {
	opts     Options
	target   netip.AddrPort
	recorder recorder
	note     func(frame)

	mu sync.Mutex
	// taps by host, and which namespace each is in.
	taps    map[string]*tap
	inodes  map[string]uint64
	before  map[string]counters
	told    map[bool]int
	failure error
}

func newTracer(o Options, target netip.AddrPort, note func(frame)) (*tracer, error) {
	s := &tracer{
		opts: o, target: target, note: note, taps: map[string]*tap{}, inodes: map[string]uint64{}, before: map[string]counters{}, told: map[bool]int{},
		recorder: recorder{cards: map[mac]string{}, names: map[string]func(int) string{}},
	}
	for _, host := range append([]string{client}, o.Hosts...) {
		if err := s.open(host); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *tracer) netns(host string) string { return s.opts.Cluster + "-" + host }

// open listens on the host, if it runs and is not listened to already.
func (s *tracer) open(host string) error {
	var stat unix.Stat_t
	if unix.Stat(filepath.Join(netnsFolder, s.netns(host)), &stat) != nil {
		return nil // off
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inodes[host] == stat.Ino {
		return nil
	}
	filter := clientFilter(s.target.Addr())
	if host != client {
		filter = hostFilter(s.target.Addr(), []uint16{s.target.Port(), 8080})
	}
	t, err := openTap(s.netns(host), host, host != client, filter)
	if err != nil {
		return err
	}
	if old := s.taps[host]; old != nil {
		_ = old.file.Close()
	}
	s.taps[host], s.inodes[host] = t, stat.Ino
	s.recorder.mu.Lock()
	s.recorder.names[host] = t.names
	if t.card != (mac{}) {
		s.recorder.cards[t.card] = host
	}
	s.recorder.mu.Unlock()
	s.before[host] = s.count(host)
	go func() {
		err := t.run(func(f frame) {
			s.recorder.add(f)
			if host == client {
				s.note(f)
			}
		})
		if err != nil {
			s.mu.Lock()
			s.failure = err
			s.mu.Unlock()
		}
	}()
	return nil
}

func (s *tracer) count(host string) (c counters) {
	err := inside(s.netns(host), func() error {
		c = readCounters()
		return nil
	})
	if err != nil {
		return nil
	}
	return c
}

// run looks for hosts that start.
func (s *tracer) run(ctx context.Context) {
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, host := range s.opts.Hosts {
			if err := s.open(host); err != nil {
				fmt.Fprintln(os.Stderr, "monitor:", err) // it may have gone again
			}
		}
	}
}

// explain adds to a request where its packets went.
func (s *tracer) explain(q *Request, port uint16) {
	s.recorder.await(time.Now().Add(lateness), patience)
	connection := s.recorder.connection(port, q.At.Add(-time.Millisecond))
	q.Torn = torn(connection)
	s.mu.Lock()
	s.told[q.Torn]++
	enough := s.told[q.Torn] > explained
	s.mu.Unlock()
	if enough {
		return
	}
	q.Path = append(s.recorder.tell(connection), s.remembered(port)...)
	q.Path = append(q.Path, s.recorder.claims(s.target.Addr(), q.At.Add(-2*time.Second), q.At.Add(time.Second))...)
}

// remembered tells what the hosts' connection tracking holds of the client's port.
func (s *tracer) remembered(port uint16) (found []string) {
	for _, host := range s.opts.Hosts {
		_ = inside(s.netns(host), func() error { // a host may be off
			text, err := os.ReadFile("/proc/thread-self/net/nf_conntrack")
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, fmt.Sprintf(" dst=%s sport=%d dport=%d ", s.target.Addr().StringExpanded(), port, s.target.Port())) {
					found = append(found, host+" tracks: "+strings.Join(strings.Fields(line), " "))
				}
			}
			return err
		})
	}
	return found
}

// end closes the taps and adds to the report what went wrong on the hosts.
func (s *tracer) end(r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, t := range s.taps {
		if missed := t.missed(); missed > 0 {
			r.Counters = append(r.Counters, fmt.Sprintf("%s: %d packets were not seen", host, missed))
		}
		_ = t.file.Close()
		if text := s.count(host).since(s.before[host]); text != "" {
			r.Counters = append(r.Counters, host+": "+text)
		}
	}
	if s.failure != nil {
		r.Counters = append(r.Counters, s.failure.Error())
	}
}
