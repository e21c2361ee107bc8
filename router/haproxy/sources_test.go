package haproxy

import "testing"

// TestParseSource reads what HAProxy 3.0 to 3.4 write.
func TestParseSource(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]RefusedSource{
		"0x7ffac0a713e0: key=::ffff:192.0.2.1 use=5 exp=29699 shard=0 gpc0=1 gpc0_rate(10000)=0 conn_cur=5 gpc1=7": {"192.0.2.1", 7, 5},
		"0x1: key=2001:db8:: use=0 exp=1 gpc1=1":                   {"2001:db8::", 1, 0},
		"0x1: key=2001:db8:: use=0 exp=1 gpc1=0":                   {},
		"# table: router_sources, type: ipv6, size:102400, used:1": {},
		"gpc1=3": {}, "key=": {}, "": {}, "\x00\x1b[2J": {},
	} {
		if got, ok := parseSource([]byte(line)); ok != (want.Refused > 0) || ok && got != want {
			t.Errorf("%q: %+v %t, want %+v", line, got, ok, want)
		}
	}
}

func FuzzParseSource(f *testing.F) {
	for _, s := range []string{"0x1: key=::ffff:192.0.2.1 conn_cur=5 gpc1=7", "key=\n gpc1=\t1", "key=\r\x00\f gpc1=-1 conn_cur=99999999999999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, ok := parseSource(line); ok && s.Refused <= 0 {
			t.Errorf("%q: %+v", line, s)
		}
	})
}
