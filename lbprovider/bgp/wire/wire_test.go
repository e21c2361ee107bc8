package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/terminal"
)

// FuzzReport: whatever a process reports that a router took over, what the
// speaker takes from it is printable, short, and one of the known states.
func FuzzReport(f *testing.F) {
	for _, line := range []string{
		`{"address":"198.18.0.1","state":"Established","problem":"","peerASN":64500,"counters":{"TotalSent":3},"answers":7}`,
		`{"address":"fe80::1%eth0","state":"Idle","problem":"a\nb\t\u0000\f\r\u001b[2J\u202e"}`,
		`{"address":"fe80::1%e\u001bth0","state":"Idle"}`, `{"state":"Up"}`, `{}`, `null`, `{"state":"Idle"}{}`, `{"unknown":1}`, `{"address":"fe80::1%` + strings.Repeat("e", maxZone+1) + `","state":"Idle"}`, `{"state":"Idle","since":"2999-01-01T00:00:00Z"}`, `{"state":"Idle","answers":-1}`, "\x00",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		lines := Reports(bytes.NewReader(append(line, '\n')))
		for {
			r, err := ReadReport(lines)
			if err != nil {
				return
			}
			if len(r.Address.Zone()) > maxZone {
				t.Fatalf("zone %q of %q", r.Address.Zone(), line)
			}
			for _, text := range []string{r.Problem, r.State, r.Address.String()} {
				if text != terminal.Line(text) || len(text) > MaxProblem {
					t.Fatalf("%q of %q", text, line)
				}
			}
		}
	})
}
