package cases

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// matchedRoutes are Routes with limits of some requests.
func matchedRoutes() string {
	const keys = "apiKeys: {secrets: [keys]}"
	return strings.Join([]string{
		keySecrets,
		ratedRoute("method", "", hourly(1, "match: {methods: [POST, PUT]}")),
		ratedRoute("path", "", hourly(1, "match: {paths: [{value: /login}, {type: Exact, value: /x}]}")),
		ratedRoute("both", "", hourly(1, "key: {type: Header, name: X-User}, match: {methods: [POST], paths: [{value: /login/}]}")),
		ratedRoute("beside", "", `requests: [{name: some, requests: 1, per: 1h, match: {paths: [{value: /a}]}}, {name: all, requests: 3, per: 1h}, {name: others, requests: 1, per: 1h, match: {methods: [PUT]}}]`),
		withLogin("consumer", keys, hourly(1, byConsumer+", match: {paths: [{value: /a}]}")),
		withLogin("two", keys, `requests: [{name: some, requests: 1, per: 1h, `+byConsumer+`, match: {paths: [{value: /a}]}}, {name: all, requests: 2, per: 1h, `+byConsumer+`}]`),
		ratedRoute("encoded", "", hourly(1, `match: {paths: [{value: "/a b,+:=|é"}]}`)),
		ratedRoute("root", "", hourly(1, `match: {paths: [{value: /}]}`)),
		ratedRoute("together", "", `requests: [{name: all, requests: 50, burst: 20, key: {type: None}, scope: Shared}]`),
		ratedRoute("shared", "", `requests: [{name: one, requests: 1, per: 3s, scope: Shared, match: {methods: [POST], paths: [{value: /login}]}}]`),
		withLogin("sharedkeys", keys, `requests: [{name: one, requests: 1, per: 3s, scope: Shared, `+byConsumer+`, match: {paths: [{value: /login}]}}]`),
		ratedRoute("free", "", ""),
		// What cannot be read closes the paths.
		ratedRoute("nomethod", "", hourly(9, "match: {methods: [post]}")),
		ratedRoute("nopath", "", hourly(9, "match: {paths: [{value: /a/../b}]}")),
		ratedRoute("noregex", "", hourly(9, "match: {paths: [{type: Regex, value: /a.*}]}")),
		ratedRoute("nothing", "", hourly(9, "match: {}")),
		ratedRoute("long", "", hourly(9, `match: {paths: [{value: "/`+strings.Repeat("é", 100)+`"}]}`)),
		ratedRoute("slots", "", "concurrent: {count: 9, match: {methods: [DROP]}}"),
	}, "---\n")
}

// TestLimitMatches: a limit counts and refuses the requests that it is for, by their method and
// their path however that is written, and one that cannot be read closes the paths.
func TestLimitMatches(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.ratedBed(t, matchedRoutes(), "free.rt.test")
		const ofAnn, ofBob = "h:X-API-Key=ann-key-0123456789abcdef", "h:X-API-Key=bob-key-0123456789abcdef"
		for _, line := range []string{
			`127.0.0.1 GET http://method.rt.test/ -> 200 resp:RateLimit=`,
			`127.0.0.1 POST http://method.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 PUT http://method.rt.test/ -> 429`,
			`127.0.0.1 GET http://method.rt.test/ -> 200`,
			`127.0.0.1 GET http://path.rt.test/ -> 200 resp:RateLimit=`,
			`127.0.0.1 GET http://path.rt.test/loginx -> 200 resp:RateLimit=`,
			`127.0.0.1 GET http://path.rt.test/x/y -> 200`,
			`127.0.0.1 GET http://path.rt.test/login -> 200 remaining=0`,
			`127.0.0.1 GET http://path.rt.test/login?a -> 429`,
			`127.0.0.1 GET http://path.rt.test/login/a -> 429`,
			`127.0.0.1 GET http://path.rt.test/%6cogin -> 429`,
			`127.0.0.1 GET http://path.rt.test/login;a=1 -> 429`,
			`127.0.0.1 GET http://path.rt.test/./login -> 429`,
			`127.0.0.1 GET http://path.rt.test/a/../login -> 429`,
			`127.0.0.1 GET http://path.rt.test//login -> 429`,
			`127.0.0.1 GET http://path.rt.test/%2flogin -> 429`,
			`127.0.0.1 GET http://path.rt.test/x -> 429`,
			`127.0.0.1 GET http://path.rt.test/%78 -> 429`,
			`127.0.0.1 GET http://path.rt.test/files/a%20b -> 200`,
			`127.0.0.1 POST http://both.rt.test/login h:X-User=a -> 200`,
			`127.0.0.1 POST http://both.rt.test/login/b h:X-User=a -> 429`,
			`127.0.0.1 POST http://both.rt.test/login/b h:X-User=b -> 200`,
			`127.0.0.1 POST http://both.rt.test/ h:X-User=a -> 200`,
			`127.0.0.1 GET http://both.rt.test/login h:X-User=a -> 200`,
			`127.0.0.1 GET http://beside.rt.test/ -> 200 remaining=2`,
			`127.0.0.1 GET http://beside.rt.test/a -> 200 remaining=0`,
			`127.0.0.1 GET http://beside.rt.test/a -> 429 resp:RateLimit-Policy="\"some\";q=1;w=3600"`,
			`127.0.0.1 GET http://beside.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://beside.rt.test/ -> 429 resp:RateLimit-Policy="\"all\";q=3;w=3600"`,
			`127.0.0.1 GET http://consumer.rt.test/ ` + ofAnn + ` -> 200 resp:RateLimit=`,
			`127.0.0.1 GET http://consumer.rt.test/a ` + ofAnn + ` -> 200 remaining=0`,
			`127.0.0.1 GET http://consumer.rt.test/%61/b ` + ofAnn + ` -> 429`,
			`127.0.0.1 GET http://consumer.rt.test/a ` + ofBob + ` -> 200`,
			`127.0.0.1 GET http://consumer.rt.test/ ` + ofAnn + ` -> 200`,
			`127.0.0.1 GET http://consumer.rt.test/ -> 401`,
			`127.0.0.1 GET http://two.rt.test/ ` + ofAnn + ` -> 200 remaining=1`,
			`127.0.0.1 GET http://two.rt.test/a ` + ofAnn + ` -> 200 remaining=0`,
			`127.0.0.1 GET http://two.rt.test/ ` + ofAnn + ` -> 429 resp:RateLimit-Policy="\"all\";q=2;w=3600"`,
			`127.0.0.1 GET http://encoded.rt.test/a%20b%2c%2b%3a%3d%7c%c3%a9 -> 200 remaining=0`,
			`127.0.0.1 GET http://encoded.rt.test/a%20b,+:=%7C%C3%A9/b -> 429`,
			`127.0.0.1 GET http://encoded.rt.test/a%20b -> 200`,
			`127.0.0.1 GET http://root.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://root.rt.test/a -> 429`,
			`127.0.0.1 GET http://nomethod.rt.test/ -> 503`,
			`127.0.0.1 GET http://nopath.rt.test/ -> 503`,
			`127.0.0.1 GET http://noregex.rt.test/ -> 503`,
			`127.0.0.1 GET http://nothing.rt.test/ -> 503`,
			`127.0.0.1 GET http://long.rt.test/ -> 503`,
			`127.0.0.1 GET http://slots.rt.test/ -> 503`,
		} {
			b.expectCounted(line)
		}
	})
}

// TestSharedLimitMatches: limits over all replicas count the requests that they are for.
func TestSharedLimitMatches(t *testing.T) {
	t.Parallel()
	b := replicaBeds(t, "127.0.76", 1, matchedRoutes())[0]
	acting(t, []*bed{b})
	<-time.After(earned)
	const ofAnn = "h:X-API-Key=ann-key-0123456789abcdef"
	for _, lines := range [][]string{
		{
			`127.0.0.1 GET http://shared.rt.test/login -> 200 resp:RateLimit-Policy=`,
			`127.0.0.1 POST http://shared.rt.test/ -> 200 resp:RateLimit-Policy=`,
			`127.0.0.1 POST http://shared.rt.test/login -> 200 resp:RateLimit-Policy="\"one\";q=1;w=3"`,
			`127.0.0.1 POST http://shared.rt.test/%6cogin/a -> 429`,
			`127.0.0.1 POST http://shared.rt.test//a -> 429`,
			`127.0.0.1 GET http://shared.rt.test/login -> 200`,
		},
		{
			`127.0.0.1 GET http://sharedkeys.rt.test/ ` + ofAnn + ` -> 200 resp:RateLimit-Policy=`,
			`127.0.0.1 GET http://sharedkeys.rt.test/login ` + ofAnn + ` -> 200 resp:RateLimit-Policy="\"one\";q=1;w=3"`,
			`127.0.0.1 GET http://sharedkeys.rt.test/login ` + ofAnn + ` -> 429`,
			`127.0.0.1 GET http://sharedkeys.rt.test/ ` + ofAnn + ` -> 200`,
		},
	} {
		b.expectShared(lines)
	}
}

// TestLimitMatchSpellings: templates/limits.lua reads paths as match.Normal does, whatever
// stands in them.
func TestLimitMatchSpellings(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	// The limit refuses nothing, and says with each answer whether it has counted.
	b.ratedBed(t, ratedRoute("spelled", "", `requests: [{name: some, requests: 1000000, key: {type: None}, match: {paths: [{value: /a}, {type: Exact, value: /b/c}]}}]`)+"---\n"+ratedRoute("free", "", ""), "free.rt.test")
	m := model.RequestMatch{Paths: []model.RequestPath{{Value: "/a"}, {Value: "/b/c", Exact: true}}}
	pieces := []string{"/", "/", "a", "a", "b", "c", ".", "..", ";", ";x=1", "%", "%2", "%61", "%62", "%2e", "%2E", "%2f", "%5c", `\`, "%3b", "%00", "%1f", "%7f", "%c0", "%C3%A9", "%25", "%2561", "%25%32", "%20", "/a", "/b/c", "x"}
	paths := []string{"/a", "/a/", "/ab", "/b/c", "/b/c/", "/b/c/d", "/%61", "/a;x", "/;/a", "/a/..", "/a/%2e%2e/d", "/x/%2e;y/a"}
	dice := rand.New(rand.NewPCG(4, 4))
	for range 1500 {
		path := "/"
		for range 1 + dice.IntN(6) {
			path += pieces[dice.IntN(len(pieces))]
		}
		paths = append(paths, path)
	}
	counted := 0
	for _, path := range paths {
		r := b.sendFrom("127.0.0.1", &expectation{request: request{method: http.MethodGet, host: "spelled.rt.test", target: path}})
		normal, plain := match.Normal(path)
		want := m.Has(http.MethodGet, normal, plain)
		if got := r.header.Get("RateLimit-Policy") != ""; r.err != nil || got != want {
			t.Errorf("%s: status %d, error %v, counted %v, want %v", path, r.status, r.err, got, want)
		}
		if want {
			counted++
		}
	}
	t.Logf("%d of %d paths are counted", counted, len(paths))
}
