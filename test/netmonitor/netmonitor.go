// Package netmonitor observes, from the host client of a test cluster, which host
// answers for addresses and which requests get no answer, and follows the packets
// of those. It runs as a process of its own on that host: the program that uses it
// starts itself again there.
package netmonitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
)

// asMonitor in the environment holds the Options of the process on the host.
const asMonitor = "FAIRLEAD_NETMONITOR"

// Options say what to look at.
type Options struct {
	// Addresses are IPv4 addresses to ask for by ARP, each every ARPEvery; 0 means 50 ms.
	Addresses []string
	ARPEvery  time.Duration
	// Requests are sent to it on new connections, one every Every, with Host;
	// none if it is empty. 0 means 10 ms. The target may be an IPv6 address.
	Target, Path, Host string
	Every              time.Duration
	// Sources are addresses of the client to send from, each from all ports
	// before the next. Nodes remember a port for two minutes, so that one source
	// is good for 500 requests a second. None: the kernel chooses one.
	Sources []string
	// Hosts are those on which to follow the packets of requests, so that a lost
	// one tells where. Each costs a little of the machine.
	Hosts []string
	// Cluster is set by Start.
	Cluster string
}

// Timeout is how long a request waits for a connection, and then for its
// answer, before it counts as lost. The kernel sends a lost packet again after
// a second; a request that needed that counts as Resent.
const Timeout = 5 * time.Second

// slow is nearly the time after which a client's kernel sends a lost packet again.
const slow = 900 * time.Millisecond

// Claim is an ARP reply, or an unasked announcement.
type Claim struct {
	At      time.Time `json:"at"`
	Address string    `json:"address"`
	MAC     string    `json:"mac"`
	Unasked bool      `json:"unasked"`
}

// Request is one that was sent.
type Request struct {
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Error is why it was lost, or empty.
	Error string `json:"error,omitempty"`
	// Resent says that the client sent the first packet again.
	Resent bool `json:"resent,omitempty"`
	// Torn says that the address moved to another host in the midst of it: no
	// host can go on with a connection that it does not know.
	Torn bool `json:"torn,omitempty"`
	// Path tells of the first that were lost or resent where their packets went.
	Path []string `json:"path,omitempty"`
}

// Sending is since when the client sends the packets of requests to a card.
type Sending struct {
	At  time.Time `json:"at"`
	MAC string    `json:"mac"`
}

// Report is what was seen.
type Report struct {
	// Sent has an entry for each time that the client turned to another card.
	Sent     []Sending `json:"sent"`
	Claims   []Claim   `json:"claims"`
	Requests []Request `json:"requests"`
	// Counters tell by host what its kernel counted meanwhile that may explain
	// a loss.
	Counters []string `json:"counters,omitempty"`
}

// Monitor is the process on the client host.
type Monitor struct {
	cmd   *exec.Cmd
	input io.Closer
	out   chan result
}

type result struct {
	report *Report
	err    error
}

// Child does the work and returns true if this process is a monitor. It must
// be called first in main or TestMain.
func Child() bool {
	text, child := os.LookupEnv(asMonitor)
	if !child {
		return false
	}
	var o Options
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = observe(o, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "monitor:", err)
		os.Exit(1)
	}
	return true
}

// Start starts a monitor and returns when it watches.
func Start(ctx context.Context, c *cluster.Cluster, o Options) (*Monitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a monitor: %w", err)
	}
	o.Cluster = c.Name()
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("start a monitor: %w", err)
	}
	// In the client's network only: it looks at other hosts from outside. On a
	// machine of its own, it would not wait for a processor until the cluster's
	// programs have had theirs.
	cmd := exec.CommandContext(ctx, "nsenter", "--net="+filepath.Join(netnsFolder, c.Name()+"-"+client), "nice", "-n", "-10", self)
	cmd.Env = append(os.Environ(), asMonitor+"="+string(text), "GOGC=400")
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a monitor: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a monitor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a monitor: %w", err)
	}
	w := &Monitor{cmd: cmd, input: input, out: make(chan result, 1)}
	ready := make(chan struct{})
	go func() {
		decoder := json.NewDecoder(output)
		var hello string
		err := decoder.Decode(&hello)
		close(ready)
		r := &Report{}
		if err == nil {
			err = decoder.Decode(r)
		}
		w.out <- result{r, errors.Join(err, cmd.Wait())}
	}()
	<-ready
	return w, nil
}

// PID is the monitor's process.
func (w *Monitor) PID() int { return w.cmd.Process.Pid }

// Stop ends the monitor and returns what it saw.
func (w *Monitor) Stop() (*Report, error) {
	_ = w.input.Close()
	r := <-w.out
	w.out <- r // a second Stop gets the same
	if r.err != nil {
		return nil, fmt.Errorf("read the monitor's report: %w", r.err)
	}
	return r.report, nil
}

// Lost returns the requests without an answer, but for those that are Torn.
func (r *Report) Lost() []Request {
	return r.those(func(q Request) bool { return q.Error != "" && !q.Torn })
}

// Torn returns the requests without an answer in whose midst the address moved.
func (r *Report) Torn() []Request {
	return r.those(func(q Request) bool { return q.Error != "" && q.Torn })
}

// Slow returns the requests that were answered a second late or more, because
// their first packet was lost. One that was answered sooner met a pod that still
// remembered an earlier connection, and was told so at once.
func (r *Report) Slow() []Request {
	return r.those(func(q Request) bool { return q.Error == "" && q.Resent && q.Took >= slow })
}

// Affected returns the requests that were lost, torn or slow.
func (r *Report) Affected() []Request { return slices.Concat(r.Lost(), r.Torn(), r.Slow()) }

func (r *Report) those(keep func(Request) bool) []Request {
	return slices.DeleteFunc(slices.Clone(r.Requests), func(q Request) bool { return !keep(q) })
}

// Silence is the longest time in which requests were sent and none was
// answered, and when it began. Time in which the monitor itself did not get to
// send any does not count.
func (r *Report) Silence() (longest time.Duration, from time.Time) {
	var answers, sent []time.Time
	for _, q := range r.Requests {
		sent = append(sent, q.At)
		if q.Error == "" {
			answers = append(answers, q.At.Add(q.Took))
		}
	}
	slices.SortFunc(answers, time.Time.Compare)
	slices.SortFunc(sent, time.Time.Compare)
	for i := 1; i < len(answers); i++ {
		next, _ := slices.BinarySearchFunc(sent, answers[i-1], time.Time.Compare)
		if next == len(sent) {
			break
		}
		if d := answers[i].Sub(sent[next]); d > longest {
			longest, from = d, sent[next]
		}
	}
	return longest, from
}

// FirstAnswerAfter returns how long after t a request was answered that was sent after t.
func (r *Report) FirstAnswerAfter(t time.Time) (time.Duration, bool) {
	best, found := time.Duration(0), false
	for _, q := range r.Requests {
		if d := q.At.Add(q.Took).Sub(t); q.Error == "" && q.At.After(t) && (!found || d < best) {
			best, found = d, true
		}
	}
	return best, found
}

// Moves is how often the client turned to another host.
func (r *Report) Moves() int { return max(0, len(r.Sent)-1) }

// Double is a time in which two hosts answered for one address.
type Double struct {
	Address  string
	From, To time.Time
	MACs     []string
}

// Doubles returns when an address was answered for by more than one host:
// one answered although another did before and did again afterwards, or at the
// same time.
func (r *Report) Doubles() []Double {
	byAddress := map[string][]Claim{}
	for _, c := range r.Claims {
		if !c.Unasked {
			byAddress[c.Address] = append(byAddress[c.Address], c)
		}
	}
	var all []Double
	for address, claims := range byAddress {
		slices.SortFunc(claims, func(a, b Claim) int { return a.At.Compare(b.At) })
		all = append(all, doubles(address, claims)...)
	}
	slices.SortFunc(all, func(a, b Double) int { return a.From.Compare(b.From) })
	return all
}

// together is how close two answers are that belong to one request.
const together = 40 * time.Millisecond

// doubles finds the answers of two hosts that come together.
func doubles(address string, claims []Claim) []Double {
	var all []Double
	for i, c := range claims {
		for _, next := range claims[i+1:] {
			if next.At.Sub(c.At) > together {
				break
			}
			if next.MAC == c.MAC {
				continue
			}
			if last := len(all) - 1; last >= 0 && c.At.Sub(all[last].To) < time.Second {
				all[last].To = next.At
				continue
			}
			all = append(all, Double{Address: address, From: c.At, To: next.At, MACs: []string{c.MAC, next.MAC}})
		}
	}
	return all
}

// Owner returns the last host that answered for the address.
func (r *Report) Owner(address string) string {
	mac, at := "", time.Time{}
	for _, c := range r.Claims {
		if c.Address == address && !c.Unasked && c.At.After(at) {
			mac, at = c.MAC, c.At
		}
	}
	return mac
}

// String is one line.
func (r *Report) String() string {
	silence, _ := r.Silence()
	parts := []string{fmt.Sprintf("%d requests, %d lost, %d slow, %d torn, %d moves, silent for %v",
		len(r.Requests), len(r.Lost()), len(r.Slow()), len(r.Torn()), r.Moves(), silence.Round(time.Millisecond))}
	for _, d := range r.Doubles() {
		parts = append(parts, fmt.Sprintf("%s answered by %d hosts for %v", d.Address, len(d.MACs), d.To.Sub(d.From).Round(time.Millisecond)))
	}
	if lost := r.Lost(); len(lost) > 0 {
		parts = append(parts, "first lost: "+lost[0].Error)
	}
	return strings.Join(parts, "; ")
}
