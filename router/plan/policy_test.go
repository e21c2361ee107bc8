package plan

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

func TestEncodeHeaders(t *testing.T) {
	set := func(name, value string) model.HeaderAction { return model.HeaderAction{Name: name, Value: value} }
	remove := func(name string) model.HeaderAction { return model.HeaderAction{Name: name, Delete: true} }
	long := strings.Repeat("x", 5000)
	for _, tc := range []struct {
		name          string
		actions       []model.HeaderAction
		first, second string
	}{
		{"fixed", []model.HeaderAction{set("A", "100%%"), remove("Bc")}, "\x01A\x04100%\x00\x00", "\x02Bc\x00"},
		{"nothing to delete", []model.HeaderAction{set("A", "b")}, "\x01A\x01b\x00\x00", "\x00"},
		// 240 is 0xf0 and nothing more; 5000 is 0xf8, and 297 in groups of seven bits.
		{"as long as one byte says", []model.HeaderAction{set("A", long[:239])}, "\x01A\xef" + long[:239] + "\x00\x00", "\x00"},
		{"longer", []model.HeaderAction{set("A", long[:240])}, "\x01A\xf0\x00" + long[:240] + "\x00\x00", "\x00"},
		{"much longer", []model.HeaderAction{set("A", long)}, "\x01A\xf8\xa9\x01" + long + "\x00\x00", "\x00"},
		{"a fetch", []model.HeaderAction{set("A", "<%[req.hdr(b),lower]>"), remove("C")}, "~S\x1fA\x1fL<\x1fFreq.hdr(b),lower\x1fL>\x1eD\x1fC", "\x01C\x00"},
		{"a name twice", []model.HeaderAction{set("A", "b"), remove("a")}, "~S\x1fA\x1fLb\x1eD\x1fa", "\x01a\x00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, second, _ := strings.Cut(encodeHeaders(tc.actions), ".")
			text, script := strings.CutPrefix(first, "~")
			got := decode(t, text)
			if script {
				got = "~" + got
			}
			if got != tc.first {
				t.Errorf("first %q, want %q", got, tc.first)
			}
			if got := decode(t, second); got != tc.second {
				t.Errorf("second %q, want %q", got, tc.second)
			}
		})
	}
}

func decode(t *testing.T, text string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
