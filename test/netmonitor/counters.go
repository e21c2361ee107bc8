package netmonitor

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// counters are a namespace's numbers of things that went wrong.
type counters map[string]int64

// readCounters reads those of the namespace that the thread is in.
func readCounters() counters {
	c := counters{}
	const net = "/proc/thread-self/net/"
	for _, file := range []string{"snmp", "netstat"} {
		pairs(c, net+file)
	}
	for _, file := range []string{"nf_conntrack", "arp_cache"} {
		perProcessor(c, net+"stat/"+file, file)
	}
	devices(c, net+"dev")
	return c
}

func lines(path string) [][]string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Fields(line))
	}
	return all
}

// pairs reads a line of names and a line of numbers, again and again.
func pairs(c counters, path string) {
	all := lines(path)
	for i := 0; i+1 < len(all); i += 2 {
		for j := 1; j < min(len(all[i]), len(all[i+1])); j++ {
			if n, err := strconv.ParseInt(all[i+1][j], 10, 64); err == nil {
				c[all[i][0]+all[i][j]] = n
			}
		}
	}
}

// perProcessor reads a line of names and a line of hexadecimal numbers for each processor.
func perProcessor(c counters, path, name string) {
	all := lines(path)
	for i := 1; i < len(all); i++ {
		for j := range min(len(all[0]), len(all[i])) {
			if n, err := strconv.ParseInt(all[i][j], 16, 64); err == nil {
				c[name+":"+all[0][j]] += n
			}
		}
	}
}

// devices reads errors and drops of each interface.
func devices(c counters, path string) {
	for _, fields := range lines(path)[min(2, len(lines(path))):] {
		if len(fields) < 13 {
			continue
		}
		for name, at := range map[string]int{"rx errors": 3, "rx dropped": 4, "tx errors": 11, "tx dropped": 12} {
			if n, err := strconv.ParseInt(fields[at], 10, 64); err == nil {
				c[fields[0]+name] = n
			}
		}
	}
}

// losses are the counters that tell of lost packets and refused connections.
func losses() []string {
	return []string{
		"nf_conntrack:insert_failed", "nf_conntrack:drop", "nf_conntrack:early_drop", "nf_conntrack:invalid", "nf_conntrack:clash_resolve", "nf_conntrack:chain_toolong",
		"arp_cache:res_failed", "arp_cache:unresolved_discards", "arp_cache:table_fulls",
		"Ip:InHdrErrors", "Ip:InAddrErrors", "Ip:InDiscards", "Ip:OutDiscards", "Ip:OutNoRoutes",
		"Tcp:AttemptFails", "Tcp:EstabResets", "Tcp:RetransSegs", "Tcp:OutRsts", "Tcp:InErrs",
		"TcpExt:ListenOverflows", "TcpExt:ListenDrops", "TcpExt:TCPReqQFullDoCookies", "TcpExt:TCPReqQFullDrop", "TcpExt:TCPBacklogDrop", "TcpExt:TCPTimeWaitOverflow",
		"TcpExt:PAWSActive", "TcpExt:PAWSEstab", "TcpExt:TCPSynRetrans", "TcpExt:TCPTimeouts", "TcpExt:IPReversePathFilter", "TcpExt:TCPACKSkippedTimeWait", "TcpExt:TCPChallengeACK",
	}
}

// since lists what went wrong between two readings.
func (c counters) since(old counters) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		wanted := slices.Contains(losses(), name) || strings.HasSuffix(name, "errors") || strings.HasSuffix(name, "dropped")
		if d := c[name] - old[name]; wanted && d != 0 {
			all = append(all, fmt.Sprintf("%s %+d", name, d))
		}
	}
	return strings.Join(all, ", ")
}
