package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// keySecrets are the consumers ann and bob, of whom ann has two keys under two names.
const keySecrets = "kind: Secret\nmetadata: {namespace: rt, name: keys}\nstringData: {ann: ann-key-0123456789abcdef, bob: bob-key-0123456789abcdef}\n---\n" +
	"kind: Secret\nmetadata: {namespace: rt, name: more}\nstringData: {ann: ann-key-of-another-day-01}\n"

// withLogin is a Route whose policy has a group authentication and limits.
func withLogin(name, authentication, limits string) string {
	return fmt.Sprintf("kind: Route\nmetadata: {namespace: rt, name: %[1]s}\nspec: {host: %[1]s.rt.test, to: {kind: Service, name: web}}\n---\n"+
		"kind: RoutePolicy\nmetadata: {namespace: rt, name: %[1]s}\nspec:\n  targetRefs: [{group: route.openshift.io, kind: Route, name: %[1]s}]\n  authentication: {%[2]s}\n  limits: {%[3]s}\n", name, authentication, limits)
}

// manyLimits are limits of 1/h, 2/h and so on.
func manyLimits(n int, name, key string) string {
	var list []string
	for i := range n {
		one := fmt.Sprintf("{name: %s%[2]d, requests: %[2]d, per: 1h", name, i+1)
		if key != "" {
			one += ", " + key
		}
		list = append(list, one+"}")
	}
	return strings.Join(list, ", ")
}

const byConsumer = "key: {type: Consumer}"

// TestRatesByConsumer: owners of API keys are counted by their names, wherever they come from
// and whichever key they show, on each version of HAProxy. What authentication refuses does
// not count, and what such a limit refuses counts for no other limit.
func TestRatesByConsumer(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		const keys = "apiKeys: {secrets: [keys, more]}"
		b.ratedBed(t, strings.Join([]string{
			keySecrets,
			withLogin("keyed", keys, hourly(2, byConsumer)),
			withLogin("legacy", keys, hourly(1, byConsumer+", status: 503, headers: Legacy")),
			withLogin("exempt", keys, hourly(1, byConsumer+", exempt: [127.0.0.9]")),
			withLogin("dry", keys, hourly(1, byConsumer+", dryRun: true")),
			withLogin("claim", keys, hourly(1, "key: {type: Claim, name: sub}")),
			withLogin("both", keys, `requests: [{name: address, requests: 3, per: 1h}, {name: consumer, requests: 1, per: 1h, `+byConsumer+`}, {name: slower, requests: 2, per: 2h, `+byConsumer+`}]`),
			withLogin("six", keys, "requests: ["+manyLimits(4, "address", "burst: 9")+", "+manyLimits(2, "consumer", byConsumer)+"]"),
			withLogin("three", keys, "requests: ["+manyLimits(1, "address", "")+", "+manyLimits(3, "consumer", byConsumer)+"]"),
			ratedRoute("open", "", hourly(1, byConsumer)),
			ratedRoute("annotated", `fairlead.dev/limit: "1/h", fairlead.dev/limit-key: consumer`, ""),
			ratedRoute("free", "", ""),
		}, "---\n"), "free.rt.test")
		const ann, anns, bob = "h:X-API-Key=ann-key-0123456789abcdef", "h:X-API-Key=ann-key-of-another-day-01", "h:X-API-Key=bob-key-0123456789abcdef"
		lines := []string{
			`127.0.0.1 GET http://keyed.rt.test/ -> 401 resp:RateLimit=`,
			`127.0.0.1 GET http://keyed.rt.test/ h:X-API-Key=eve-key-0123456789abcdef -> 401`,
			`127.0.0.1 GET http://keyed.rt.test/ ` + ann + ` -> 200 pod=web remaining=1 resp:RateLimit-Policy="\"hourly\";q=2;w=3600"`,
			`127.0.0.2 GET http://keyed.rt.test/ ` + anns + ` -> 200 remaining=0`,
			`127.0.0.3 GET http://keyed.rt.test/ ` + ann + ` -> 429 again=1800 remaining=0 body~"Too many requests."`,
			`127.0.0.3 GET http://keyed.rt.test/ ` + anns + ` -> 429`,
			`127.0.0.3 GET http://keyed.rt.test/ -> 401`,
			`127.0.0.3 GET http://keyed.rt.test/ ` + bob + ` -> 200 remaining=1`,
			`127.0.0.1 GET http://legacy.rt.test/ ` + ann + ` -> 200 resp:X-RateLimit-Limit=1 resp:X-RateLimit-Remaining=0 resp:RateLimit=`,
			`127.0.0.2 GET http://legacy.rt.test/ ` + ann + ` -> 503 again=3600`,
			`127.0.0.9 GET http://exempt.rt.test/ ` + ann + ` -> 200 resp:RateLimit=`,
			`127.0.0.9 GET http://exempt.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.1 GET http://exempt.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.1 GET http://exempt.rt.test/ ` + ann + ` -> 429`,
			`127.0.0.1 GET http://dry.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.2 GET http://dry.rt.test/ ` + ann + ` -> 200 remaining=0`,
			// A key has no claims, and where nothing asks who the client is there is no consumer.
			`127.0.0.1 GET http://claim.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.1 GET http://claim.rt.test/ ` + bob + ` -> 429`,
			`127.0.0.2 GET http://claim.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.1 GET http://six.rt.test/ ` + ann + ` -> 200 remaining=0 resp:RateLimit-Policy="\"consumer1\";q=1;w=3600"`,
			`127.0.0.2 GET http://six.rt.test/ ` + ann + ` -> 429 again=3600`,
			`127.0.0.2 GET http://six.rt.test/ ` + bob + ` -> 200`,
			`127.0.0.1 GET http://three.rt.test/ ` + ann + ` -> 503`,
			`127.0.0.1 GET http://open.rt.test/ -> 200`,
			`127.0.0.1 GET http://open.rt.test/ ` + ann + ` -> 429`,
			`127.0.0.2 GET http://open.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 429`,
			`127.0.0.1 GET http://both.rt.test/ ` + ann + ` -> 200 remaining=0 resp:RateLimit-Policy="\"consumer\";q=1;w=3600"`,
			`127.0.0.1 GET http://both.rt.test/ ` + ann + ` -> 429 again=3600`,
		}
		refused := []string{ // which 3.0 cannot take back
			`127.0.0.1 GET http://both.rt.test/ ` + ann + ` -> 429 again=3600`,
			`127.0.0.1 GET http://both.rt.test/ ` + ann + ` -> 429 again=3600`,
		}
		if version == "haproxy-3.0" {
			refused = nil
		}
		lines = append(append(lines, refused...), `127.0.0.1 GET http://both.rt.test/ `+bob+` -> 200`)
		if refused != nil {
			lines = append(lines, `127.0.0.1 GET http://both.rt.test/ -> 401`) // which counts by address
		}
		lines = append(lines, `127.0.0.1 GET http://both.rt.test/ `+bob+` -> 429 again=1200 resp:RateLimit-Policy="\"address\";q=3;w=3600"`)
		for _, line := range lines {
			b.expectCounted(line)
		}
	})
}

// TestRatesByClaim: users and claims of tokens are counted by what the policy agent says, and
// by the same where HAProxy lets a client on by a verdict that it has kept.
func TestRatesByClaim(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	signer := newIssuerKey(t, "a")
	const issuer = "https://login.example.com/"
	jwt := `jwt: {issuers: [{issuer: "` + issuer + `", audiences: [shop], secret: jwks}]}`
	b.ratedBed(t, strings.Join([]string{
		keySecrets,
		"kind: Secret\nmetadata: {namespace: rt, name: users}\nstringData: {auth: \"" + strings.TrimSpace(annsUsers) + `\n` + "bob:$1$ab$.aYNGKf.V.8uwq5olSQgB.\"}\n",
		"kind: Secret\nmetadata: {namespace: rt, name: jwks}\nstringData: {jwks: '" + string(keySet(signer).Data["jwks"]) + "'}\n",
		withLogin("basic", "basic: {secret: users}", hourly(3, byConsumer)),
		withLogin("any", "satisfy: Any, basic: {secret: users}, apiKeys: {secrets: [keys]}", hourly(2, byConsumer)),
		withLogin("all", "basic: {secret: users}, apiKeys: {secrets: [keys]}", hourly(1, byConsumer)),
		withLogin("subject", jwt, hourly(2, byConsumer)),
		withLogin("tenant", jwt, `requests: [{name: subject, requests: 4, per: 1h, `+byConsumer+`}, {name: tenant, requests: 3, per: 1h, key: {type: Claim, name: org.tenant}}]`),
		withLogin("optional", strings.TrimSuffix(jwt, "}")+", optional: true}", hourly(1, byConsumer)),
		withLogin("groups", jwt, hourly(1, `key: {type: Claim, name: groups}`)),
		ratedRoute("free", "", ""),
	}, "---\n"), "free.rt.test")
	token := func(sub string, more map[string]any) string {
		claims := map[string]any{"iss": issuer, "sub": sub, "aud": "shop", "exp": time.Now().Add(time.Hour).Unix()}
		maps.Copy(claims, more)
		return `h:Authorization="` + strings.TrimPrefix(signer.sign("EdDSA", claims), "Authorization: ") + `"`
	}
	tenant := func(sub, name string, n int) string {
		return token(sub, map[string]any{"org": map[string]any{"tenant": name}, "n": n})
	}
	groups := func(all ...string) string { return token("eve", map[string]any{"groups": all}) }
	const keyOfAnn, keyOfBob = " h:X-API-Key=ann-key-0123456789abcdef", " h:X-API-Key=bob-key-0123456789abcdef"
	b.eventually("the agent decides", func() error { return b.counted(`127.0.0.1 GET http://basic.rt.test/ -> 401`) })
	for _, line := range []string{
		`127.0.0.1 GET http://basic.rt.test/ ` + ann + ` -> 200 remaining=2`,
		`127.0.0.2 GET http://basic.rt.test/ ` + ann + ` -> 200 remaining=1`,
		`127.0.0.1 GET http://basic.rt.test/ h:Authorization="Basic YW5uOnk=" -> 401`,
		`127.0.0.1 GET http://basic.rt.test/ ` + bob + ` -> 200 remaining=2`,
		`127.0.0.1 GET http://any.rt.test/ ` + ann + ` -> 200 remaining=1`,
		`127.0.0.2 GET http://any.rt.test/` + keyOfAnn + ` -> 200 remaining=0`,
		`127.0.0.3 GET http://any.rt.test/ ` + ann + ` -> 429`,
		`127.0.0.3 GET http://any.rt.test/ ` + bob + ` -> 200 remaining=1`,
		// The owner of the key counts, which a verdict about a password does not say.
		`127.0.0.1 GET http://all.rt.test/ ` + bob + keyOfAnn + ` -> 200`,
		`127.0.0.1 GET http://all.rt.test/ ` + bob + keyOfBob + ` -> 200`,
		`127.0.0.1 GET http://all.rt.test/ ` + bob + keyOfAnn + ` -> 429`,
		`127.0.0.1 GET http://subject.rt.test/ ` + tenant("ann", "a", 1) + ` -> 200 remaining=1`,
		`127.0.0.2 GET http://subject.rt.test/ ` + tenant("ann", "a", 2) + ` -> 200 remaining=0`,
		`127.0.0.3 GET http://subject.rt.test/ ` + tenant("ann", "b", 1) + ` -> 429 again=1800`,
		`127.0.0.3 GET http://subject.rt.test/ ` + tenant("bob", "a", 1) + ` -> 200`,
		`127.0.0.1 GET http://tenant.rt.test/ ` + tenant("ann", "a", 1) + ` -> 200 remaining=2 resp:RateLimit-Policy="\"tenant\";q=3;w=3600"`,
		`127.0.0.2 GET http://tenant.rt.test/ ` + tenant("bob", "a", 1) + ` -> 200 remaining=1`,
		`127.0.0.3 GET http://tenant.rt.test/ ` + tenant("eve", "a", 1) + ` -> 200 remaining=0`,
		`127.0.0.4 GET http://tenant.rt.test/ ` + tenant("ann", "a", 3) + ` -> 429 again=1200`,
		`127.0.0.4 GET http://tenant.rt.test/ ` + tenant("ann", "b", 1) + ` -> 200 remaining=2`,
		// Without the claim it is the address.
		`127.0.0.5 GET http://tenant.rt.test/ ` + token("dan", nil) + ` -> 200 remaining=2`,
		`127.0.0.5 GET http://tenant.rt.test/ ` + token("dan", map[string]any{"org": map[string]any{"tenant": ""}}) + ` -> 200 remaining=1`,
		`127.0.0.6 GET http://tenant.rt.test/ ` + token("dan", nil) + ` -> 200 remaining=1 resp:RateLimit-Policy="\"subject\";q=4;w=3600"`,
		`127.0.0.1 GET http://optional.rt.test/ -> 200`,
		`127.0.0.1 GET http://optional.rt.test/ -> 429`,
		`127.0.0.2 GET http://optional.rt.test/ -> 200`,
		`127.0.0.1 GET http://optional.rt.test/ ` + token("ann", nil) + ` -> 200`,
		`127.0.0.3 GET http://optional.rt.test/ ` + token("ann", nil) + ` -> 429`,
		`127.0.0.1 GET http://groups.rt.test/ ` + groups("a", "b") + ` -> 200`,
		`127.0.0.1 GET http://groups.rt.test/ ` + groups("a", "b") + ` -> 429`,
		`127.0.0.1 GET http://groups.rt.test/ ` + groups("ab") + ` -> 200`,
	} {
		b.expectCounted(line)
	}
	// Verdicts that are kept count on without an agent, by the user and not by the address.
	b.killWorkers()
	for _, line := range []string{
		`127.0.0.3 GET http://basic.rt.test/ ` + bob + ` -> 200 remaining=1`,
		`127.0.0.3 GET http://basic.rt.test/ ` + ann + ` -> 200 remaining=0`,
		`127.0.0.3 GET http://basic.rt.test/ ` + ann + ` -> 429 remaining=0`,
		`127.0.0.3 GET http://basic.rt.test/ ` + bob + ` -> 200 remaining=0`,
		`127.0.0.4 GET http://basic.rt.test/ ` + bob + ` -> 429`,
		`127.0.0.3 GET http://basic.rt.test/ h:Authorization="Basic YW5uOnk=" -> 503`,
	} {
		b.expectCounted(line)
	}
}

// TestGatewayRatesByConsumer: the limit of a Gateway's policy counts owners of keys where a
// route asks for keys, and addresses where none does, which the policy says.
func TestGatewayRatesByConsumer(t *testing.T) {
	t.Parallel()
	b := policedBed(t, `
kind: HTTPRoute
metadata: {namespace: other, name: far, uid: far}
spec:
  parentRefs: [{name: gw, namespace: gw}]
  hostnames: [far.test]
  rules:
  - {name: keyed, matches: [{path: {value: /keyed}}], backendRefs: [{name: far, port: 8080}]}
  - {name: open, backendRefs: [{name: far, port: 8080}]}
---
kind: Secret
metadata: {namespace: other, name: keys}
stringData: {ann: ann-key-0123456789abcdef, bob: bob-key-0123456789abcdef}
---
kind: RoutePolicy
metadata: {namespace: other, name: keyed}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: far, sectionName: keyed}]
  authentication: {apiKeys: {secrets: [keys]}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: all}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  limits: {requests: [{name: each, requests: 1, per: 24h, key: {type: Consumer}}]}
`)
	b.expectAtListener(t, "80 GET http://far.test/keyed -> 401")
	for _, line := range []string{
		"GET http://far.test/keyed h:X-API-Key=ann-key-0123456789abcdef -> 200 pod=far",
		"GET http://far.test/keyed h:X-API-Key=ann-key-0123456789abcdef -> 429",
		"GET http://far.test/keyed h:X-API-Key=bob-key-0123456789abcdef -> 200 pod=far",
		"GET http://far.test/keyed -> 401",
		"GET http://far.test/ -> 200 pod=far",
		"GET http://far.test/ h:X-API-Key=ann-key-0123456789abcdef -> 429",
	} {
		e, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.check(b.sendFromTo("127.0.0.1", b.slots.First, e), "far", nil); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	st, _ := b.statusOf(model.Object{Kind: gateway.KindHTTPRoute, Namespace: "other", Name: "far"})
	if !slices.ContainsFunc(st.Findings, func(f api.Finding) bool {
		return strings.Contains(f.Message, "counts by the consumer") && f.Effect == policy.EffectUnidentified
	}) {
		t.Errorf("no finding about the open path: %+v", st.Findings)
	}
}
