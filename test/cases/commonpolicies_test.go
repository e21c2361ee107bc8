package cases

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// TestCommonPolicies: the rules that common policies have for themselves (render.commonRules)
// keep out what the others do. Each host here has one path, so that it is not guarded and
// takes these rules, which its record shows. TestClosedDoors and TestRandomPolicies have
// hosts with several paths, most of which take the rules of all. Concurrency is TestLimits'.
func TestCommonPolicies(t *testing.T) {
	t.Parallel()
	const old = "haproxy.router.openshift.io/"
	counted := old + `rate-limit-connections: "true", ` + old + "rate-limit-connections."
	annotations := map[string]string{
		"allow": `fairlead.dev/allow: "127.0.0.2"`, "older": old + `ip_allowlist: "127.0.0.2"`, "deny": `fairlead.dev/deny: "127.0.0.1"`,
		"http": counted + `rate-http: "2"`, "tcp": counted + `rate-tcp: "2"`,
		"rate": `fairlead.dev/limit: "1/h"`, "replace": old + "set-forwarded-headers: replace",
		"cors": "fairlead.dev/cors-origins: https://shop.test", "rewrite": old + "rewrite-target: /new",
		"all": `fairlead.dev/allow: "127.0.0.2", fairlead.dev/limit: "1/h", fairlead.dev/cors-origins: https://shop.test`,
	}
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		var routes []string
		for name, a := range annotations {
			routes = append(routes, ratedRoute(name, a, ""))
		}
		b.ratedBed(t, strings.Join(routes, "---\n"), "cors.rt.test")
		entries := b.readBack().Entries
		for name := range annotations {
			record := entries[plan.Entry{Map: plan.MapHTTP, Key: name + ".rt.test/"}]
			letters, _, _ := strings.Cut(record[strings.Index(record, "|")+1:], "|")
			if !strings.Contains(letters, model.FlagCommon) || strings.Contains(letters, model.FlagGuarded) {
				t.Errorf("%s takes the rules of all policies, and shows nothing here: %q", name, record)
			}
		}
		for _, line := range []string{
			"127.0.0.2 GET http://allow.rt.test/ -> 200", "127.0.0.1 GET http://allow.rt.test/ -> 403", "127.0.0.1 GET http://allow.rt.test:80//x/../ -> 403",
			"127.0.0.2 GET http://older.rt.test/ -> 200", "127.0.0.1 GET http://older.rt.test/ -> 403",
			"127.0.0.2 GET http://deny.rt.test/ -> 200", "127.0.0.1 GET http://deny.rt.test/ -> 403",
			"127.0.0.1 GET http://http.rt.test/ -> 200", "127.0.0.1 GET http://http.rt.test/ -> 200", "127.0.0.1 GET http://http.rt.test/ -> 429", "127.0.0.2 GET http://http.rt.test/ -> 200",
			"127.0.0.1 GET http://tcp.rt.test/ -> 200", "127.0.0.1 GET http://tcp.rt.test/ -> 200", "127.0.0.1 GET http://tcp.rt.test/ -> 429", "127.0.0.2 GET http://tcp.rt.test/ -> 200",
			"127.0.0.1 GET http://rate.rt.test/ -> 200 remaining=0", "127.0.0.1 GET http://rate.rt.test/ -> 429 again=3600", "127.0.0.2 GET http://rate.rt.test/ -> 200",
			"127.0.0.1 GET http://replace.rt.test/ h:X-Forwarded-For=192.0.2.1 h:Forwarded=for=192.0.2.1 -> 200 seen:X-Forwarded-For=127.0.0.1 seen:Forwarded=for=127.0.0.1;host=replace.rt.test;proto=http",
			"127.0.0.1 OPTIONS http://cors.rt.test/ h:Origin=https://shop.test h:Access-Control-Request-Method=PUT -> 204 resp:Access-Control-Allow-Origin=https://shop.test",
			"127.0.0.1 GET http://cors.rt.test/ h:Origin=https://other.test -> 200 resp:Access-Control-Allow-Origin=",
			"127.0.0.1 GET http://rewrite.rt.test/a -> 200 path=/new/a",
			"127.0.0.1 OPTIONS http://all.rt.test/ h:Origin=https://shop.test h:Access-Control-Request-Method=PUT -> 403",
			"127.0.0.2 GET http://all.rt.test/ h:Origin=https://shop.test -> 200 resp:Access-Control-Allow-Origin=https://shop.test",
			"127.0.0.2 GET http://all.rt.test/ h:Origin=https://shop.test -> 429 resp:Access-Control-Allow-Origin=https://shop.test",
			"127.0.0.1 GET http://all.rt.test/ h:Origin=https://shop.test -> 403",
		} {
			b.expectCounted(line)
		}
	})
}
