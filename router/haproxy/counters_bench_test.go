package haproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/traffic"
)

// BenchmarkCounters is what the router pays for HAProxy's answer about 10,000 backends.
func BenchmarkCounters(b *testing.B) {
	const head = "guid,stot,bin,bout,dreq,dresp,econ,eresp,wretr,wredis,chkfail,chkdown,lastchg,lbtot,rate,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,hanafail,req_tot,cli_abrt,srv_abrt"
	columns := statColumns(head)
	lines := make([][]byte, 10_000)
	for i := range lines {
		lines[i] = fmt.Appendf(nil, "be_edge_http:bench:fill%d:e2a92440%s", i, strings.Repeat(",0", 39))
	}
	var reading traffic.Reading
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, l := range lines {
			if parseCounters(l, columns, &reading) {
				n++
			}
		}
		if n != len(lines) {
			b.Fatal(n)
		}
	}
}
