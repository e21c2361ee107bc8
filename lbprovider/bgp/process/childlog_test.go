package process

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzTrace: whatever a process writes to its standard error, the speaker's log
// gets whole lines of JSON, and none that a terminal would obey.
func FuzzTrace(f *testing.F) {
	for _, text := range []string{
		"", "panic: index out of range\n\ngoroutine 1 [running]:\n", "fatal error: all goroutines are asleep\x1b[2J\n", `{"level":"INFO","msg":"state"}` + "\n",
		`{"level":"INFO",` + "\t\r" + `"msg":"a` + "\u009b\x7f\u202e" + `b"}` + "\n", `{"msg":"a\n\t\r\u0000\f"}` + "\n", "{\n}\n", "{}{}\n", "a\nb\tc\rd\x00e\ff\xff",
		strings.Repeat("x", maxLine+1) + "\n{}\n", strings.Repeat("y\n", 2*maxTrace), strings.Repeat(`{"a":`, 300),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = to.Write(text) // the other end takes all
			_ = to.Close()
		}()
		var out bytes.Buffer
		trace := newChildLog(&out, from, func(int) {})
		trace.read()
		for line := range strings.Lines(out.String()) {
			bare, whole := strings.CutSuffix(line, "\n")
			if !whole || !json.Valid([]byte(bare)) || !utf8.ValidString(bare) || strings.ContainsFunc(bare, unicode.IsControl) {
				t.Errorf("%q is logged", line)
			}
		}
		if why := trace.crashReason(); why != "" && !bytes.Contains(text, []byte(why)) {
			t.Errorf("reason %q", why)
		}
	})
}
