package haproxy

import (
	"bytes"
	"strconv"

	"github.com/fairlead/fairlead/router/plan"
)

// Columns of "show servers state", format 1 (HAProxy management guide 9.3).
const (
	colBackend    = 1
	colServer     = 3
	colAddress    = 4
	colOpState    = 5
	colAdminState = 6
	colWeight     = 7
	colCheckState = 13
	colPort       = 18
	columns       = 19
)

// Bits and values of those columns (the same guide, and server-t.h and check-t.h
// of HAProxy's source, where the bits have their names).
const (
	// stoppedStates of srv_admin_state are forced maintenance and forced drain.
	stoppedStates = 0x01 | 0x08
	// checkConfigured and checkEnabled are of srv_check_state: "disable health"
	// clears the second one.
	checkConfigured, checkEnabled = 0x02, 0x04
	// stopped is srv_op_state of a server that gets no requests. One that is starting slowly
	// gets some.
	stopped = 0
)

// serverRow is a line of "show servers state".
type serverRow struct {
	backend, server, address, port, weight []byte
	// See plan.Server.
	stopped, unchecked, down bool
}

// parseServer reads a line. It reports false for those that are of no server.
func parseServer(l []byte) (serverRow, bool) {
	var f [columns][]byte
	if len(l) == 0 || l[0] == '#' {
		return serverRow{}, false
	}
	for i := range f {
		var found bool
		f[i], l, found = bytes.Cut(l, []byte(" "))
		if !found && i < columns-1 {
			return serverRow{}, false
		}
	}
	admin, check := number(f[colAdminState]), number(f[colCheckState])
	row := serverRow{
		backend: f[colBackend], server: f[colServer], address: f[colAddress], port: f[colPort], weight: f[colWeight],
		stopped:   admin&stoppedStates != 0,
		unchecked: check&checkConfigured != 0 && check&checkEnabled == 0,
	}
	row.down = admin == 0 && check&checkConfigured == 0 && number(f[colOpState]) == stopped
	return row, true
}

// repairs returns what makes a server of the skeleton as it was at the start.
func (r *serverRow) repairs() []plan.Step {
	var steps []plan.Step
	if r.stopped {
		steps = append(steps, plan.ServerReady{Backend: string(r.backend), Name: string(r.server)})
	}
	if string(r.weight) != "1" {
		steps = append(steps, plan.ServerWeight{Backend: string(r.backend), Name: string(r.server), Weight: 1})
	}
	if r.down {
		steps = append(steps, plan.ServerUp{Backend: string(r.backend), Name: string(r.server)})
	}
	return steps
}

// number reads a number of HAProxy's, none as 0.
func number(text []byte) int {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	return n
}
