package policy

import (
	"regexp"
	"testing"
)

func TestParseHSTS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"max-age=31536000", "max-age=31536000"},
		{"max-age=31536000;includeSubDomains;preload", "max-age=31536000;includeSubDomains;preload"},
		{"max-age=31536000; includeSubDomains;preload", "max-age=31536000; includeSubDomains;preload"},
		{"INCLUDESUBDOMAINS ; preload ;Max-Age = 60", "includeSubDomains; preload;max-age=60"},
		{"max-age=1;\nincludeSubDomains", "max-age=1; includeSubDomains"},
		{"\t\r\nmax-age\f=\v\"60\"\n;\n", "max-age=60"},
		{"preload;preload;max-age=0;preload", "preload;max-age=0"},
		{"max-age=1;;preload", ""},
		{"max-age=1\x00", ""},
		{"max-age=1;\u00a0preload", ""},
		{"max-age=1;\u2028preload", ""},
		{"max-age=1;max-age=2", ""},
		{"max-age=-1", ""},
		{`max-age="1`, ""},
		{`max-age=""`, ""},
		{"max-age=1; includeSubDomain", ""},
		{"max-age=1 2", ""},
		{"includeSubDomains", ""},
		{"preload=1;max-age=1", ""},
		{"", ""},
	} {
		got, ok := parseHSTS(tt.text)
		if ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("parseHSTS(%q) = %q, %v; want %q", tt.text, got, ok, tt.want)
		}
	}
}

var (
	// formerHSTS is the pattern of OpenShift's router.
	formerHSTS = regexp.MustCompile(`(?i)^\s*(?:(?:includeSubDomains|preload)\s*;\s*)*max-age\s*=\s*(?:[0-9]+|"[0-9]+")\s*(?:;\s*(?:includeSubDomains|preload)\s*)*;?\s*$`)
	safeHSTS   = regexp.MustCompile(`^((includeSubDomains|preload); ?)*max-age=[0-9]+(; ?(includeSubDomains|preload))*$`)
)

// FuzzHSTS: what is served is made of known words, it reads as itself, and all
// that OpenShift's router takes is taken.
func FuzzHSTS(f *testing.F) {
	for _, s := range []string{
		"max-age=31536000; includeSubDomains;preload", "INCLUDESUBDOMAINS ; preload ;Max-Age = 60", `max-age="60"`,
		"max-age=1;\nincludeSubDomains", "max-age=1;\tpreload", "max-age=1\r", "max-age=1\x00", "\fmax-age=1", "max-age=1;\v;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseHSTS(s)
		if ok && !safeHSTS.MatchString(got) {
			t.Fatalf("parseHSTS(%q) = %q", s, got)
		}
		if again, _ := parseHSTS(got); ok && again != got {
			t.Fatalf("%q reads as %q", got, again)
		}
		if len(s) <= maxHSTS && formerHSTS.MatchString(s) && !ok {
			t.Fatalf("%q is refused", s)
		}
	})
}
