package cases

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestConcurrent: so many requests with the same key at a time, and one more is
// refused. Those with another key do not notice.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.ratedBed(t, ratedRoute("once", "", `concurrent: {count: 1, key: {type: Header, name: X-User}, status: 503}`)+"---\n"+
			ratedRoute("address", "", `concurrent: {count: 1}`)+"---\n"+ratedRoute("some", "", `concurrent: {count: 1, match: {methods: [GET], paths: [{value: /slow}]}}`)+"---\n"+ratedRoute("free", "", ""), "free.rt.test")
		status := func(host, user, target string) int {
			e := &expectation{request: request{method: "GET", host: host + ".rt.test", target: target}}
			if user != "" {
				e.request.header = []string{"X-User: " + user}
			}
			return b.sendFrom("127.0.0.1", e).status
		}
		for _, test := range []struct {
			host, user, path string
			refused          int
		}{{"once", "a", "/", 503}, {"once", "", "/", 503}, {"address", "a", "/", 429}, {"some", "", "/slow", 429}} {
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						status(test.host, test.user, test.path+"?sleep=2s")
					}
				}
			}()
			b.expectStatus(func() int { return status(test.host, test.user, test.path) }, test.refused)
			if test.host == "some" {
				if got := status(test.host, "", "/"); got != http.StatusOK {
					t.Errorf("a request that the limit is not for: %d", got)
				}
			}
			if test.host == "once" {
				if got := status(test.host, "other", "/"); got != http.StatusOK {
					t.Errorf("another key: %d", got)
				}
			}
			close(stop)
			<-stopped
			b.expectStatus(func() int { return status(test.host, test.user, test.path) }, http.StatusOK)
		}
	})
}

// crowded holds one request under way, again and again, while check runs.
func (b *bed) crowded(host, path string, header []string, check func(status func(from, path string, header ...string) int)) {
	b.t.Helper()
	status := func(from, path string, header ...string) int {
		return b.sendFrom(from, &expectation{request: request{method: "GET", host: host + ".rt.test", target: path, header: header}}).status
	}
	stop := background(func(ctx context.Context) {
		for ctx.Err() == nil {
			status("127.0.0.1", path+"?sleep=2s", header...)
		}
	})
	check(status)
	stop()
	b.expectStatus(func() int { return status("127.0.0.2", path, header...) }, http.StatusOK)
}

// TestConcurrentByConsumer: the owner of an API key has so many requests under way, from
// whichever address and with whichever key, on each version of HAProxy; others do not notice.
func TestConcurrentByConsumer(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		const keys = "apiKeys: {secrets: [keys, more]}"
		b.ratedBed(t, strings.Join([]string{
			keySecrets,
			withLogin("keyed", keys, "concurrent: {count: 1, "+byConsumer+"}"),
			withLogin("some", keys, hourly(100, byConsumer)+", concurrent: {count: 1, "+byConsumer+", status: 503, match: {paths: [{value: /slow}]}}"),
			ratedRoute("open", "", "concurrent: {count: 1, "+byConsumer+"}"),
			ratedRoute("free", "", ""),
		}, "---\n"), "free.rt.test")
		const ofAnn, alsoAnn, ofBob = "X-API-Key: ann-key-0123456789abcdef", "X-API-Key: ann-key-of-another-day-01", "X-API-Key: bob-key-0123456789abcdef"
		expect := func(what string, got, want int) {
			t.Helper()
			if got != want {
				t.Errorf("%s: status %d, want %d", what, got, want)
			}
		}
		b.crowded("keyed", "/", []string{ofAnn}, func(status func(string, string, ...string) int) {
			b.expectStatus(func() int { return status("127.0.0.2", "/", alsoAnn) }, http.StatusTooManyRequests)
			expect("another consumer", status("127.0.0.1", "/", ofBob), http.StatusOK)
			expect("without a key", status("127.0.0.1", "/"), http.StatusUnauthorized)
		})
		b.crowded("some", "/slow", []string{ofAnn}, func(status func(string, string, ...string) int) {
			b.expectStatus(func() int { return status("127.0.0.2", "/slow/a", ofAnn) }, http.StatusServiceUnavailable)
			expect("a request that the limit is not for", status("127.0.0.1", "/", ofAnn), http.StatusOK)
			expect("another consumer", status("127.0.0.1", "/slow", ofBob), http.StatusOK)
		})
		b.crowded("open", "/", nil, func(status func(string, string, ...string) int) {
			b.expectStatus(func() int { return status("127.0.0.1", "/", ofAnn) }, http.StatusTooManyRequests)
			expect("another address", status("127.0.0.2", "/", ofAnn), http.StatusOK)
		})
	})
}

// TestConcurrentByClaim: a claim counts as the policy agent says, and users by verdicts that are
// kept when it has ended.
func TestConcurrentByClaim(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	signer := newIssuerKey(t, "a")
	const jwt = `jwt: {issuers: [{issuer: "https://i.test/", secret: jwks}]}`
	b.ratedBed(t, strings.Join([]string{
		"kind: Secret\nmetadata: {namespace: rt, name: users}\nstringData: {auth: \"" + strings.TrimSpace(annsUsers) + `\n` + "bob:$1$ab$.aYNGKf.V.8uwq5olSQgB.\"}\n",
		"kind: Secret\nmetadata: {namespace: rt, name: jwks}\nstringData: {jwks: '" + string(keySet(signer).Data["jwks"]) + "'}\n",
		withLogin("tenant", jwt, "concurrent: {count: 1, key: {type: Claim, name: org.tenant}}"),
		withLogin("basic", "basic: {secret: users}", hourly(1000, byConsumer)+", concurrent: {count: 1, "+byConsumer+"}"),
		ratedRoute("free", "", ""),
	}, "---\n"), "free.rt.test")
	token := func(sub, tenant string) string {
		claims := map[string]any{"iss": "https://i.test/", "sub": sub, "exp": time.Now().Add(time.Hour).Unix()}
		if tenant != "" {
			claims["org"] = map[string]any{"tenant": tenant}
		}
		return signer.sign("EdDSA", claims)
	}
	const asAnn, asBob = "Authorization: Basic YW5uOng=", "Authorization: Basic Ym9iOm5ldw=="
	b.eventually("the agent decides", func() error { return b.counted(`127.0.0.1 GET http://basic.rt.test/ -> 401`) })
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: status %d, want %d", what, got, want)
		}
	}
	b.crowded("tenant", "/", []string{token("ann", "a")}, func(status func(string, string, ...string) int) {
		b.expectStatus(func() int { return status("127.0.0.2", "/", token("bob", "a")) }, http.StatusTooManyRequests)
		expect("another tenant", status("127.0.0.1", "/", token("ann", "b")), http.StatusOK)
		expect("no tenant", status("127.0.0.1", "/", token("ann", "")), http.StatusOK)
	})
	users := func(status func(string, string, ...string) int) {
		b.expectStatus(func() int { return status("127.0.0.2", "/", asAnn) }, http.StatusTooManyRequests)
		expect("another user", status("127.0.0.1", "/", asBob), http.StatusOK)
	}
	b.crowded("basic", "/", []string{asAnn}, users)
	b.killWorkers()
	b.crowded("basic", "/", []string{asAnn}, users)
}
