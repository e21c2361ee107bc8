package cases

import (
	"net"
	"strconv"
	"testing"
)

// TestAccepted: HAProxy says how many connections have come, by which a router that is about to stop sees whether clients still do.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"haproxy", "haproxy-3.0"} {
		b := settingsBed(t, version, nil)
		rt := b.newRuntime()
		rt.ReadOnly = true
		accepted := func() uint64 {
			t.Helper()
			n, err := rt.Accepted()
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := accepted()
		if again := accepted(); again != before {
			t.Errorf("%s: %d connections without a client", version, again-before)
		}
		for range 3 {
			conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.http)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		b.expectLine("GET http://plain.set.test/ -> 200") // accepted after those
		if came := accepted() - before; came < 3 {
			t.Errorf("%s: %d connections, want 3 and that of a request", version, came)
		}
	}
}
