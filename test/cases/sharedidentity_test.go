package cases

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
)

// countAlone has the agent of a bed count without other replicas.
func (b *bed) countAlone(address string) {
	b.t.Helper()
	certificate, err := peers.Issue(time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	self := netip.MustParseAddr(address)
	b.agent = &agentBed{dir: b.layout.Run}
	b.agent.replicas.Store(&snapshot.Replicas{Self: self, Members: []netip.Addr{self}, Port: 9443, Certificates: [][]byte{certificate}})
}

// sharedByIdentity are Routes whose limits over all replicas count by who the client is.
func sharedByIdentity(jwks string) string {
	const jwt = `jwt: {issuers: [{issuer: "https://i.test/", secret: jwks}]}`
	const keys = "apiKeys: {secrets: [keys, more]}"
	one := func(more string) string {
		return "requests: [{name: one, requests: 1, per: 3s, scope: Shared, " + more + "}]"
	}
	return strings.Join([]string{
		keySecrets,
		"kind: Secret\nmetadata: {namespace: rt, name: users}\nstringData: {auth: \"" + strings.TrimSpace(annsUsers) + `\n` + "bob:$1$ab$.aYNGKf.V.8uwq5olSQgB.\"}\n",
		"kind: Secret\nmetadata: {namespace: rt, name: jwks}\nstringData: {jwks: '" + jwks + "'}\n",
		ratedRoute("together", "", `requests: [{name: all, requests: 50, burst: 20, key: {type: None}, scope: Shared}]`),
		withLogin("load", keys, `requests: [{name: consumer, requests: 50, burst: 20, scope: Shared, `+byConsumer+`}]`),
		withLogin("keyed", keys, one(byConsumer)),
		withLogin("legacy", keys, one(byConsumer+", status: 503, headers: Legacy")),
		withLogin("exempt", keys, one(byConsumer+", exempt: [127.0.0.9]")),
		withLogin("dry", keys, one(byConsumer+", dryRun: true")),
		withLogin("claimless", keys, one("key: {type: Claim, name: sub}")),
		withLogin("basic", "basic: {secret: users}", one(byConsumer)),
		withLogin("subject", jwt, one(byConsumer)),
		withLogin("tenant", jwt, `requests: [{name: subject, requests: 30, per: 3s, scope: Shared, `+byConsumer+`}, {name: tenant, requests: 1, per: 3s, scope: Shared, key: {type: Claim, name: org.tenant}}]`),
		withLogin("optional", strings.TrimSuffix(jwt, "}")+", optional: true}", one(byConsumer)),
		withLogin("beside", keys, `requests: [{name: own, requests: 2, per: 1h, `+byConsumer+`}, {name: shared, requests: 30, per: 3s, scope: Shared, `+byConsumer+`}]`),
		ratedRoute("open", "", one(byConsumer)),
		ratedRoute("annotated", `fairlead.dev/limit: "20/m burst 1", fairlead.dev/limit-key: consumer, fairlead.dev/limit-scope: Shared`, ""),
		ratedRoute("free", "", ""),
	}, "---\n")
}

// TestSharedByIdentity: routers with two workers each admit together what a limit by consumer
// says, from whichever address and with whichever key of the consumer, also while workers
// are killed; others have their own. Without an agent nothing gets through.
func TestSharedByIdentity(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			beds := replicaBeds(t, fmt.Sprint("127.0.", 76+n), n, sharedByIdentity(string(keySet(newIssuerKey(t, "a")).Data["jwks"])))
			acting(t, beds)
			ask := func(b *bed, from, key string) int {
				r := b.sendFrom(from, &expectation{request: request{method: "GET", host: "load.rt.test", target: "/", header: []string{"X-API-Key: " + key}}})
				if r.err != nil {
					t.Error(r.err)
				}
				return r.status
			}
			anns, bobs := []string{"ann-key-0123456789abcdef", "ann-key-of-another-day-01"}, "bob-key-0123456789abcdef"
			// load asks as one consumer, several times as often as it may; half of it by the first router.
			load := func(took time.Duration) (admitted, asked, uncounted int64) {
				var ok, all, unavailable atomic.Int64
				var running sync.WaitGroup
				end := time.Now().Add(took)
				for i := range 8 {
					b := beds[max(i-4, 0)%n]
					running.Go(func() {
						for time.Now().Before(end) {
							all.Add(1)
							switch status := ask(b, fmt.Sprintf("127.0.%d.%d", 76+n, 101+i), anns[i%2]); status {
							case http.StatusOK:
								ok.Add(1)
								continue
							case http.StatusServiceUnavailable:
								unavailable.Add(1)
							case http.StatusTooManyRequests:
							default:
								t.Errorf("status %d", status)
								return
							}
							<-time.After(20 * time.Millisecond)
						}
					})
				}
				running.Wait()
				return ok.Load(), all.Load(), unavailable.Load()
			}
			const rate, burst = 50, 20
			load(time.Second)
			began := time.Now()
			admitted, asked, uncounted := load(4 * time.Second)
			most := rate*time.Since(began).Seconds() + burst
			t.Logf("%d routers: %d of %d requests admitted, at most %.0f are right; %d could not be counted", n, admitted, asked, most, uncounted)
			if float64(admitted) > most || admitted < rate || float64(admitted+uncounted) < 0.6*rate*4 {
				t.Errorf("%d of %d requests admitted, at most %.0f are right", admitted, asked, most)
			}
			beds[1].eventually("another consumer is admitted", func() error {
				if status := ask(beds[1], "127.0.0.1", bobs); status != http.StatusOK {
					return fmt.Errorf("status %d", status)
				}
				return nil
			})
			began = time.Now()
			beds[0].signalWorkers(syscall.SIGKILL)
			admitted, asked, _ = load(3 * time.Second)
			if most = rate*time.Since(began).Seconds() + burst; float64(admitted) > most {
				t.Errorf("%d of %d requests admitted after workers were killed, at most %.0f are right", admitted, asked, most)
			}
			beds[0].killWorkers()
			beds[0].eventually("nothing gets through", func() error {
				if status := ask(beds[0], "127.0.0.1", bobs); status != http.StatusServiceUnavailable {
					return fmt.Errorf("status %d", status)
				}
				return nil
			})
		})
	}
}

// TestSharedIdentityAnswers: each kind of identity is counted by itself, a client of whom it is
// not known by its address, and what authentication refuses does not count.
func TestSharedIdentityAnswers(t *testing.T) {
	t.Parallel()
	signer := newIssuerKey(t, "a")
	b := replicaBeds(t, "127.0.77", 1, sharedByIdentity(string(keySet(signer).Data["jwks"])))[0]
	acting(t, []*bed{b})
	<-time.After(earned)
	token := func(sub, tenant string) string {
		claims := map[string]any{"iss": "https://i.test/", "sub": sub, "exp": time.Now().Add(time.Hour).Unix()}
		if tenant != "" {
			claims["org"] = map[string]any{"tenant": tenant}
		}
		return `h:Authorization="` + strings.TrimPrefix(signer.sign("EdDSA", claims), "Authorization: ") + `"`
	}
	const ofAnn, alsoAnn, ofBob = "h:X-API-Key=ann-key-0123456789abcdef", "h:X-API-Key=ann-key-of-another-day-01", "h:X-API-Key=bob-key-0123456789abcdef"
	for _, lines := range [][]string{
		{
			`127.0.0.1 GET http://keyed.rt.test/ -> 401 resp:RateLimit-Policy=`,
			`127.0.0.1 GET http://keyed.rt.test/ h:X-API-Key=eve-key-0123456789abcdef -> 401`,
			`127.0.0.1 GET http://keyed.rt.test/ ` + ofAnn + ` -> 200 pod=web resp:RateLimit-Policy="\"one\";q=1;w=3"`,
			`127.0.0.2 GET http://keyed.rt.test/ ` + alsoAnn + ` -> 429 resp:Retry-After=3 resp:RateLimit="\"one\";r=0;t=3" body~"Too many requests."`,
			`127.0.0.1 GET http://keyed.rt.test/ ` + ofBob + ` -> 200`,
			`127.0.0.1 GET http://keyed.rt.test/ -> 401`,
		},
		{
			`127.0.0.1 GET http://legacy.rt.test/ ` + ofAnn + ` -> 200 resp:X-RateLimit-Limit=1`,
			`127.0.0.2 GET http://legacy.rt.test/ ` + ofAnn + ` -> 503 resp:X-RateLimit-Remaining=0`,
		},
		{
			`127.0.0.9 GET http://exempt.rt.test/ ` + ofAnn + ` -> 200 resp:RateLimit-Policy=`,
			`127.0.0.9 GET http://exempt.rt.test/ ` + ofAnn + ` -> 200`,
			`127.0.0.1 GET http://exempt.rt.test/ ` + ofAnn + ` -> 200`,
			`127.0.0.1 GET http://exempt.rt.test/ ` + ofAnn + ` -> 429`,
		},
		{
			`127.0.0.1 GET http://dry.rt.test/ ` + ofAnn + ` -> 200`,
			`127.0.0.2 GET http://dry.rt.test/ ` + ofAnn + ` -> 200 resp:RateLimit="\"one\";r=0;t=3"`,
		},
		{ // a key has no claims
			`127.0.0.1 GET http://claimless.rt.test/ ` + ofAnn + ` -> 200`,
			`127.0.0.1 GET http://claimless.rt.test/ ` + ofBob + ` -> 429`,
			`127.0.0.2 GET http://claimless.rt.test/ ` + ofBob + ` -> 200`,
		},
		{
			`127.0.0.1 GET http://basic.rt.test/ h:Authorization="Basic YW5uOnk=" -> 401`,
			`127.0.0.1 GET http://basic.rt.test/ ` + ann + ` -> 200`,
			`127.0.0.2 GET http://basic.rt.test/ ` + ann + ` -> 429`,
			`127.0.0.2 GET http://basic.rt.test/ ` + bob + ` -> 200`,
		},
		{
			`127.0.0.1 GET http://subject.rt.test/ ` + token("ann", "a") + ` -> 200`,
			`127.0.0.2 GET http://subject.rt.test/ ` + token("ann", "b") + ` -> 429`,
			`127.0.0.2 GET http://subject.rt.test/ ` + token("bob", "a") + ` -> 200`,
		},
		{
			`127.0.0.1 GET http://tenant.rt.test/ ` + token("ann", "a") + ` -> 200 resp:RateLimit-Policy="\"subject\";q=30;w=3"`,
			`127.0.0.2 GET http://tenant.rt.test/ ` + token("bob", "a") + ` -> 429 resp:RateLimit="\"tenant\";r=0;t=3"`,
			`127.0.0.2 GET http://tenant.rt.test/ ` + token("bob", "b") + ` -> 200`,
			// Without the claim it is the address.
			`127.0.0.3 GET http://tenant.rt.test/ ` + token("dan", "") + ` -> 200`,
			`127.0.0.3 GET http://tenant.rt.test/ ` + token("eve", "") + ` -> 429`,
			`127.0.0.4 GET http://tenant.rt.test/ ` + token("eve", "") + ` -> 200`,
		},
		{
			`127.0.0.1 GET http://optional.rt.test/ -> 200`,
			`127.0.0.1 GET http://optional.rt.test/ -> 429`,
			`127.0.0.1 GET http://optional.rt.test/ ` + token("ann", "") + ` -> 200`,
			`127.0.0.3 GET http://optional.rt.test/ ` + token("ann", "") + ` -> 429`,
		},
		{
			`127.0.0.1 GET http://open.rt.test/ -> 200`,
			`127.0.0.1 GET http://open.rt.test/ ` + ofAnn + ` -> 429`,
			`127.0.0.2 GET http://open.rt.test/ ` + ofAnn + ` -> 200`,
		},
		{
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 429`,
		},
	} {
		b.expectShared(lines)
	}
	for _, line := range []string{
		`127.0.0.1 GET http://beside.rt.test/ ` + ofAnn + ` -> 200`,
		`127.0.0.2 GET http://beside.rt.test/ ` + ofAnn + ` -> 200`,
		`127.0.0.3 GET http://beside.rt.test/ ` + ofAnn + ` -> 429 resp:RateLimit-Policy="\"own\";q=2;w=3600"`,
	} {
		b.expectCounted(line)
	}
}
