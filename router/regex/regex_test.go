package regex

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		longest    int
	}{
		{`/foo(/|$)(.*)`, `\A(?:/foo(/|\z)([^\x0a]*))`, 8192},
		{`^/foo/(.*)$`, `\A(?:\A/foo/([^\x0a]*)\z)`, 8192},
		{`/api/v[0-9]+/x.y`, `\A(?:/api/v(?:[0-9])+/x[^\x0a]y)`, 8192},
		{`(?i)/Ab[^k]`, `\A(?:/[Aa][Bb][^Kk])`, 8192},
		{`/(?P<id>\d{2,4})`, `\A(?:/([0-9]{2,4}))`, 8192},
		{`/a(b)?(c)`, `\A(?:/a((?:b)?)(c))`, 8192},
		{`/\w+\.php`, `\A(?:/[0-9A-Z_a-z]+\x2ephp)`, 8192},
		{`/(a|b|cd)/`, `\A(?:/([ab]|cd)/)`, 8192},
		{`/(.*)/x`, `\A(?:/([^\x0a]*)/x)`, 512},
		{`/([^/]+)/users/([0-9]+)/(.*)`, `\A(?:/([^/]+)/users/([0-9]+)/([^\x0a]*))`, 8192},
		{`/(?:[^/]+/)*edit`, `\A(?:/(?:[^/]+/)*edit)`, 512},
		{`/.*?x`, `\A(?:/[^\x0a]*?x)`, 512},
		{`/(?s:.)`, `\A(?:/[\x00-\xff])`, 8192},
		{`/a|/b`, `\A(?:/[ab])`, 8192},
	} {
		p, err := Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		// A class of its own needs no group.
		want := strings.ReplaceAll(tt.want, `(?:[0-9])+`, `[0-9]+`)
		if p.Text != want || p.Longest != tt.longest {
			t.Errorf("%s: %s, %d bytes; want %s, %d", tt.text, p.Text, p.Longest, want, tt.longest)
		}
		if _, err := regexp.Compile(p.Text); err != nil {
			t.Errorf("%s: %v", p.Text, err)
		}
	}
}

// slow are expressions whose matching may take exponential or high polynomial time.
var slow = []string{
	`/(a+)+b`, `/(a*)*b`, `/(a|b|ab)*c`, `/([a-z]+)*1`, `/(.*)*x`, `/(.*)(.*)(.*)x`, `/.*.*=.*`, `/(x+x+)+y`, `/(a|aa)+b`, `/(\w+\s?)*!`, `/(([a-z])+.)+[A-Z]x`,
	`/([a-zA-Z]+)*/x`, `/^(([a-z])+.)+[A-Z]([a-z])+x`, `/(.+)+/x`, `/(a?){30}a{30}`, `/(?:a|b|ab)*c`, `/(0|[0-9]+)*x`, `/([^/]*)*/x`, `/(\d+)+$x`, `/(?:.*,){20}p`, `/(a?a?)*b`,
	`/.*a.*b.*c.*d`, `/([0-9]+|[0-9a-f]+)+z`, `/(a{1,20}){1,20}b`, `/(?:(?:a?)+)+b`, `/[a-z]*[a-z]*[a-z]*1`, `/(\S+)*@`, `/(?i)(A+a+)+b`,
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range slow {
		_, err := Parse(text)
		if b := (BacktracksError{}); !errors.As(err, &b) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "/(", "/a)", "/[", "/(?=a)", "/(?!a)", "/(?<=a)b", `/(a)\1`, `/\C`, "/a**+", "/a b", "/a\nb", "/a\rb", "/a\x00b", "/\u00e4", `/[\x{e4}]`, `/\x{e4}`, `/\p{Greek}`, `/(?m)^a`, `/(?m)a$`, "/(?>a)",
		"/a++", `/[^\x00-\x{10FFFF}]`, "/" + strings.Repeat("a", 512), `/a{1001}`, `/` + strings.Repeat(`.`, 400),
	} {
		if p, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, p.Text)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, replacement, path, want string }{
		{`/foo(/|$)(.*)`, `/$2`, "/foo", "/"},
		{`/foo(/|$)(.*)`, `/$2`, "/foo/a/b", "/a/b"},
		{`/foo(/|$)(.*)`, `/$2`, "/foobar", "/foobar"},
		{`/foo(/|$)(.*)`, `/$2`, "/x/foo/a", "/x/foo/a"},
		{`/api/v([0-9]+)/(.*)`, `/svc/$2/$1`, "/api/v2/users", "/svc/users/2"},
		{`/a(b)?(c)`, `/$1$2`, "/ac", "/c"},
		{`/(.*)`, `$1`, "/x", "/x"},
		{`(.*)`, `$1`, "/x", "/x"},
		{`/(.*)`, `/$$$1`, "/x", "/$x"},
		{`/(.)(.)`, `/$2$1`, "/\xc3\xa4", "/\xa4\xc3"},
		{`(?i)/Shop/(.*)`, `/$1`, "/sHOP/A", "/A"},
		{`/a$`, `/b`, "/a\n", "/a\n"},
	} {
		p, err := Parse(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if err := p.CheckReplacement(tt.replacement); err != nil {
			t.Errorf("%s with %s: %v", tt.pattern, tt.replacement, err)
		}
		if got := Replace(p.Text, tt.replacement, p.Longest, tt.path); got != (Outcome{Path: tt.want}) {
			t.Errorf("%s of %s is %+v, want %s", tt.pattern, tt.path, got, tt.want)
		}
	}
	if got := Replace(`\A(?:/([^\x0a]*))`, "/$1$1$1$1", 8192, "/"+strings.Repeat("x", 3000)); !got.TooLong {
		t.Error("a path becomes too long")
	}
	if got := Replace(`\A(?:/)`, "/", 10, "/"+strings.Repeat("x", 10)); !got.TooLong {
		t.Error("a path is too long")
	}
}

func TestCheckReplacement(t *testing.T) {
	t.Parallel()
	p, err := Parse(`/(a)|/(b)(c)`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "x", "/$", "/$a", "/$0", "/$4", "/$2", "/$3", "/a b", "/a\nb", "/a\r", "/\x00", "/a?b", "/a#b", `/a"b`, "/a'b", "/a|b", `/\1`, "/\u00e4", "/" + strings.Repeat("a", 1024),
		strings.Repeat("/$1", 10),
	} {
		if p.CheckReplacement(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"/", "/$1", "$1", "$1/x", "/$$4", "/%5b;[~]"} {
		if err := p.CheckReplacement(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := p.Without("/$1$9$$9$4"); got != "/$1$$9" {
		t.Errorf("without the captures that are not there it is %s", got)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Rule{
		`/foo(/|$)(.*)`:        {{"/foo", false}},
		`/foo(/|$)`:            {{"/foo", false}},
		`/foo(/.*)?$`:          {{"/foo", false}},
		`/foo(/.*|$)`:          {{"/foo", false}},
		`^/foo/(.*)$`:          {{"/foo/", false}},
		`/foo/`:                {{"/foo/", false}},
		`/(.*)`:                {{"/", false}},
		`(/|$)(.*)`:            {{"/", false}},
		`/foo$`:                {{"/foo", true}},
		`/foo/?$`:              {{"/foo", true}, {"/foo/", true}},
		`/(foo|bar)(/|$)(.*)`:  {{"/foo", false}, {"/bar", false}},
		`/v[12]/(.*)`:          {{"/v1/", false}, {"/v2/", false}},
		`/api/(v1|v2/x)?/(.*)`: {{"/api//", false}, {"/api/v1/", false}, {"/api/v2/x/", false}},
		`/a\.b(/|$)(.*)`:       {{"/a.b", false}},
		`/foo`:                 nil,
		`/foo.*`:               nil,
		`/foo/?(.*)`:           nil,
		`/foo/.+`:              nil,
		`/v[0-9]+/(.*)`:        nil,
		`/[a-z]/(.*)`:          nil,
		`(?i)/foo/(.*)`:        nil,
		`foo/(.*)`:             nil,
		`/foo(/|$)(.*)x`:       nil,
		`/foo/(/|$)(.*)`:       nil,
		`/foo\b(.*)`:           nil,
	} {
		p, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Rules(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzParse: what is taken means to Go what it meant before it was written out, its
// rules match what it matches, and a match takes few steps.
func FuzzParse(f *testing.F) {
	for _, seed := range append([]string{`/foo(/|$)(.*)`, `/(?i)a[^k]b`, `/(a|b)?(c)*\b`, `/v[0-9]{1,3}/(.+?)$`, "/a\nb", "/a\tb", "/a\rb", "/a\x00b", "/a\fb"}, slow...) {
		f.Add(seed, "/foo/bar", "/$1")
	}
	f.Add(`\Q/foo`, "/foo", "/$1")
	f.Fuzz(func(t *testing.T, text, path, replacement string) {
		p, err := Parse(text)
		if err != nil || len(path) > p.Longest {
			return
		}
		if strings.ContainsFunc(p.Text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || len(p.Text) > maxText {
			t.Fatalf("%q is written as %q", text, p.Text)
		}
		if strings.ContainsFunc(path, func(r rune) bool { return r >= 0x80 || r <= ' ' }) {
			return // Go reads characters there
		}
		e, err := regexp.Compile(`\A(?:` + text + `)`)
		if err != nil {
			return // \Q quotes the parenthesis, too
		}
		want := e.FindStringSubmatch(path)
		got := Match(p.Text, path)
		if !slices.Equal(got, want) {
			t.Fatalf("%q, written as %q, finds %q in %q, not %q", text, p.Text, got, path, want)
		}
		if rules := p.Rules(); rules != nil && strings.HasPrefix(path, "/") {
			if ruled := slices.ContainsFunc(rules, func(r Rule) bool { return r.has(path) }); ruled != (got != nil) {
				t.Fatalf("%q matches %q: %v; its rules %v: %v", text, path, got != nil, rules, ruled)
			}
		}
		if p.CheckReplacement(replacement) == nil {
			if to := Replace(p.Text, replacement, p.Longest, path); !strings.HasPrefix(to.Path, "/") && got != nil || len(to.Path) > LongestResult {
				t.Fatalf("%q with %q makes %q of %q", text, replacement, to.Path, path)
			}
		}
	})
}

// has is for FuzzParse.
func (r Rule) has(path string) bool {
	if r.Exact {
		return path == r.Path
	}
	return path == r.Path || strings.HasPrefix(path, strings.TrimSuffix(r.Path, "/")+"/")
}
