package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/observe"
)

const sampledLine = "h|1796000000123456|be_http:web:cart:1a2b3c4d|pod:a:s:http:198.18.0.7:8080|200|----|0|0/0/0/0/0/1/0/17|9|9|203.0.113.9|-|GET|1|-||h|1|%2F|-|-|-|1"

// TestSampled: only requests of the share that is sampled count, and only those with an answer that ends.
func TestSampled(t *testing.T) {
	t.Parallel()
	backend, took, ok := observe.Sampled([]byte(sampledLine))
	if string(backend) != "be_http:web:cart:1a2b3c4d" || took != 17*time.Millisecond || !ok {
		t.Errorf("%s, %s, %t", backend, took, ok)
	}
	if r, ok := observe.Parse([]byte(sampledLine)); !ok || r.Route != "cart" || r.Policy != "" {
		t.Errorf("%+v, %t", r, ok)
	}
	for what, line := range map[string]string{
		"not of the share":         strings.TrimSuffix(sampledLine, "1") + "-",
		"another form":             strings.TrimSuffix(sampledLine, "|1"),
		"too long":                 sampledLine + "|1",
		"a connection":             "t" + sampledLine[1:],
		"no answer":                strings.Replace(sampledLine, "|200|", "|-1|", 1),
		"no status":                strings.Replace(sampledLine, "|200|", "|0|", 1),
		"an upgrade":               strings.Replace(sampledLine, "|200|", "|101|", 1),
		"no end":                   strings.Replace(sampledLine, "/17|", "/-1|", 1),
		"no number":                strings.Replace(sampledLine, "/17|", "/x|", 1),
		"a number that is no time": strings.Replace(sampledLine, "/17|", "/99999999999|", 1),
		"nothing":                  "",
		"another text":             "12 events dropped",
	} {
		if _, _, ok := observe.Sampled([]byte(line)); ok {
			t.Errorf("%s: %s counts", what, line)
		}
	}
}

func BenchmarkSampled(b *testing.B) {
	line := []byte(sampledLine)
	b.ReportAllocs()
	for b.Loop() {
		observe.Sampled(line)
	}
}

func FuzzSampled(f *testing.F) {
	f.Add([]byte(sampledLine))
	f.Add([]byte("h|||||||1/1/1/1/1/1/1/1|||||||||||||||1\n\t\r\x00\f"))
	f.Fuzz(func(t *testing.T, line []byte) {
		backend, took, ok := observe.Sampled(line)
		if !ok {
			return
		}
		if took < 0 || strings.Contains(string(backend), "|") {
			t.Fatalf("%q: %s, %s", line, backend, took)
		}
		if r, whole := observe.Parse(line); whole && r.Timers.Total*1000-float64(took.Milliseconds()) > 1 {
			t.Fatalf("%q: %s, and %v s by Parse", line, took, r.Timers.Total)
		}
	})
}
