package haproxy

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/traffic"
)

// Counters reads what HAProxy has counted for some backends since it started, or for all of Routes if there are none
// given, and calls each with every reading, which is valid until it returns, and the process that has counted.
func (r *Runtime) Counters(each func(pid int, reading *traffic.Reading), backends ...string) error {
	const ofBackends = " 2 -1"
	commands := []string{"show info"}
	if len(backends) == 0 {
		commands = append(commands, "show stat -1"+ofBackends)
	}
	for _, name := range backends {
		if checkWord(name) == nil {
			commands = append(commands, "show stat "+name+ofBackends)
		}
	}
	return r.counters(commands, "# ", each)
}

// Totals is Counters of all backends in a third of the time, and without what HAProxy counts only there: endpoints, and
// connections of TCP. It leaves out backends without an identifier, which adopted ones may be; known is false if this
// HAProxy has none at all.
func (r *Runtime) Totals(each func(pid int, reading *traffic.Reading)) (known bool, err error) {
	if !r.caps.GUIDs {
		return false, nil
	}
	return true, r.counters([]string{"show info", "dump stats-file"}, "#be ", func(pid int, reading *traffic.Reading) {
		reading.Partial = true
		each(pid, reading)
	})
}

// Accepted is how many connections HAProxy's frontends have accepted since it started, those from one frontend to another included.
func (r *Runtime) Accepted() (sum uint64, err error) {
	const frontends = " 1 -1"
	column := -1
	err = r.streamBytes("show stat -1"+frontends, func(l []byte) {
		if head, ok := bytes.CutPrefix(l, []byte("# ")); ok {
			column = slices.Index(strings.Split(string(head), ","), "conn_tot")
			return
		}
		if fields := bytes.Split(l, []byte(",")); column >= 0 && column < len(fields) {
			if n, err := strconv.ParseUint(string(fields[column]), 10, 64); err == nil {
				sum += n
			}
		}
	})
	if err == nil && column < 0 {
		err = errors.New("HAProxy does not say how many connections it has accepted")
	}
	return sum, err
}

// counters calls each with what is in the lines of an answer that follow a line which begins with head.
func (r *Runtime) counters(commands []string, head string, each func(pid int, reading *traffic.Reading)) error {
	var columns []statColumn
	var reading traffic.Reading
	pid := 0
	err := r.streamBytes(strings.Join(commands, ";"), func(l []byte) {
		if value, ok := bytes.CutPrefix(l, []byte("Pid: ")); ok {
			pid = number(value)
		}
		if names, ok := bytes.CutPrefix(l, []byte(head)); ok {
			columns = statColumns(string(names))
			return
		}
		if parseCounters(l, columns, &reading) && pid != 0 {
			each(pid, &reading)
		}
	})
	if err == nil && pid == 0 {
		err = errors.New("HAProxy does not say which process it is")
	}
	return err
}

// statColumn takes one column of "show stat" into a reading; nil for a column that is not read.
type statColumn func(*traffic.Reading, uint64)

// statColumns returns what each column means, by the head of the answer: their places differ between versions.
func statColumns(head string) (columns []statColumn) {
	counter := func(at int) statColumn { return func(r *traffic.Reading, n uint64) { r.Counts[at] += n } }
	known := map[string]statColumn{
		"hrsp_1xx": counter(traffic.Status1xx), "hrsp_2xx": counter(traffic.Status2xx), "hrsp_3xx": counter(traffic.Status3xx),
		"hrsp_4xx": counter(traffic.Status4xx), "hrsp_5xx": counter(traffic.Status5xx), "hrsp_other": counter(traffic.StatusNone),
		"econ": counter(traffic.ConnectErrors), "eresp": counter(traffic.ResponseErrors), "cli_abrt": counter(traffic.ClientAborts),
		"bin": counter(traffic.BytesReceived), "bout": counter(traffic.BytesSent),
		"stot": func(r *traffic.Reading, n uint64) { r.Sessions = n },
		"scur": func(r *traffic.Reading, n uint64) { r.Connections = n },
		"act":  func(r *traffic.Reading, n uint64) { r.Endpoints += n },
		"bck":  func(r *traffic.Reading, n uint64) { r.Endpoints += n },
	}
	last := 0
	for name := range strings.SplitSeq(head, ",") {
		columns = append(columns, known[name])
		if known[name] != nil {
			last = len(columns)
		}
	}
	return columns[:last]
}

// tcpKind begins the names of backends of passthrough connections, which have no status.
const tcpKind = string(model.KindTCP) + ":"

// parseCounters reads a line about a Route's backend, and reports false for any other line.
func parseCounters(l []byte, columns []statColumn, reading *traffic.Reading) bool {
	*reading = traffic.Reading{}
	if !model.IsBackendName(l) {
		return false
	}
	for at, take := range columns {
		field, rest, ok := bytes.Cut(l, []byte(","))
		if !ok {
			return false
		}
		l = rest
		switch {
		case at == statName:
			reading.Backend = string(field)
		case take != nil:
			take(reading, count(field))
		}
	}
	if strings.HasPrefix(reading.Backend, tcpKind) {
		reading.Counts[traffic.StatusNone] = reading.Sessions
	}
	return reading.Backend != ""
}

// count is a number of HAProxy's; an empty field is one that a backend of its kind does not have.
func count(text []byte) uint64 {
	if len(text) == 1 && text[0] == '0' { // as nearly all are
		return 0
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
