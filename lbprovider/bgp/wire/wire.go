// Package wire is what the speaker and the processes that hold its BGP sessions
// say to each other: one JSON value per line. The speaker writes commands to the
// standard input of such a process, which writes reports to its standard output.
//
// The speaker takes nothing on trust that such a process reports: it reads
// bytes of whatever answers at a peer's address, and may be in their hands.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// Command changes what a process is to do. Fields that are not set change nothing.
type Command struct {
	// Peer and Node replace the peer and the node's addresses. A first command has
	// them.
	Peer *bgp.Peer    `json:"peer,omitempty"`
	Node []netip.Addr `json:"node,omitempty"`
	// Restarting says, in a first command, that an earlier process may have held
	// the session.
	Restarting bool `json:"restarting,omitempty"`
	// Withdraw and Announce change what the peer is sent.
	Withdraw []netip.Prefix `json:"withdraw,omitempty"`
	Announce []bgp.Route    `json:"announce,omitempty"`
	// Suspend ends the session for this reason until it is empty.
	Suspend *string `json:"suspend,omitempty"`
	// Ask wants a report with this number.
	Ask uint64 `json:"ask,omitempty"`
	// End ends session and process.
	End *End `json:"end,omitempty"`
}

// End is how a session is to end.
type End struct {
	// Farewell withdraws the routes also from a peer with graceful restart.
	Farewell bool          `json:"farewell"`
	Limit    time.Duration `json:"limit"`
}

// Report is how a session is.
type Report struct {
	Address  netip.Addr   `json:"address"`
	State    string       `json:"state"`
	Problem  string       `json:"problem"`
	PeerASN  uint32       `json:"peerASN"`
	Counters bgp.Counters `json:"counters"`
	// Answers is the number that was asked for last.
	Answers uint64 `json:"answers"`
}

const (
	// maxReport is the longest report, in bytes.
	maxReport = 16 << 10
	// MaxProblem is the longest problem, in bytes.
	MaxProblem = 400
	// maxZone is the longest name of an interface, in bytes.
	maxZone = 15
)

// ReadReport reads the next report. What it returns is safe to show.
func ReadReport(lines *bufio.Scanner) (Report, error) {
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return Report{}, fmt.Errorf("read a report: %w", err)
		}
		return Report{}, io.EOF
	}
	return parseReport(lines.Bytes())
}

func parseReport(line []byte) (Report, error) {
	var r Report
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Report{}, fmt.Errorf("read a report: %w", err)
	}
	if dec.More() {
		return Report{}, errors.New("read a report: more than one value in a line")
	}
	states := []string{bgp.StateIdle, bgp.StateConnect, bgp.StateActive, bgp.StateOpenSent, bgp.StateOpenConfirm, bgp.StateEstablished}
	if !slices.Contains(states, r.State) {
		return Report{}, errors.New("read a report: unknown state")
	}
	if zone := r.Address.Zone(); zone != terminal.Line(zone) || len(zone) > maxZone {
		return Report{}, errors.New("read a report: the address's zone is no interface")
	}
	r.Problem = terminal.Excerpt(r.Problem, MaxProblem)
	return r, nil
}

// Reports returns what ReadReport reads from.
func Reports(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1024), maxReport)
	return lines
}

// Write writes a command or a report.
func Write(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %T: %w", value, err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %T: %w", value, err)
	}
	return nil
}
