// Package witness sees, from the host client of a test cluster, who answers for
// addresses and which requests get no answer. It runs as a process of its own
// on that host: the program that uses it starts itself again there.
package witness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
)

// asWitness in the environment holds the Options of the process on the host.
const asWitness = "FAIRLEAD_WITNESS"

// Options say what to look at.
type Options struct {
	// Addresses are asked for by ARP, each every ARPEvery; 0 means 50 ms.
	Addresses []string
	ARPEvery  time.Duration
	// Requests are sent to it on new connections, one every Every, with Host;
	// none if it is empty. 0 means 10 ms.
	Target, Path, Host string
	Every              time.Duration
}

// Timeout is after how long a request counts as lost: before a client's kernel
// would send a lost packet again.
const Timeout = 900 * time.Millisecond

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
}

// Report is what was seen.
type Report struct {
	Claims   []Claim   `json:"claims"`
	Requests []Request `json:"requests"`
}

// Witness is the process on the client host.
type Witness struct {
	cmd   *exec.Cmd
	input io.Closer
	out   chan result
}

type result struct {
	report *Report
	err    error
}

// Child does the work and returns true if this process is a witness. It must
// be called first in main or TestMain.
func Child() bool {
	text, child := os.LookupEnv(asWitness)
	if !child {
		return false
	}
	var o Options
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = see(o, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(1)
	}
	return true
}

// Start starts a witness and returns when it looks.
func Start(ctx context.Context, c *cluster.Cluster, o Options) (*Witness, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	cmd, err := c.Command(ctx, "client", "env", asWitness+"="+string(text), self)
	if err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a witness: %w", err)
	}
	w := &Witness{cmd: cmd, input: input, out: make(chan result, 1)}
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

// Stop ends the witness and returns what it saw.
func (w *Witness) Stop() (*Report, error) {
	_ = w.input.Close()
	r := <-w.out
	w.out <- r // a second Stop gets the same
	if r.err != nil {
		return nil, fmt.Errorf("hear the witness: %w", r.err)
	}
	return r.report, nil
}

// Lost returns the requests without an answer.
func (r *Report) Lost() []Request {
	return slices.DeleteFunc(slices.Clone(r.Requests), func(q Request) bool { return q.Error == "" })
}

// Silence is the longest time between two answers, and when it began.
func (r *Report) Silence() (longest time.Duration, from time.Time) {
	var answers []time.Time
	for _, q := range r.Requests {
		if q.Error == "" {
			answers = append(answers, q.At.Add(q.Took))
		}
	}
	slices.SortFunc(answers, time.Time.Compare)
	for i := 1; i < len(answers); i++ {
		if d := answers[i].Sub(answers[i-1]); d > longest {
			longest, from = d, answers[i-1]
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
	parts := []string{fmt.Sprintf("%d requests, %d lost, silent for %v", len(r.Requests), len(r.Lost()), silence.Round(time.Millisecond))}
	for _, d := range r.Doubles() {
		parts = append(parts, fmt.Sprintf("%s answered by %d hosts for %v", d.Address, len(d.MACs), d.To.Sub(d.From).Round(time.Millisecond)))
	}
	if lost := r.Lost(); len(lost) > 0 {
		parts = append(parts, "first lost: "+lost[0].Error)
	}
	return strings.Join(parts, "; ")
}
