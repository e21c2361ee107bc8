package cases

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// ratedRoute is a Route, and the limits that a RoutePolicy of its name has for it.
func ratedRoute(name, annotations, limits string) string {
	text := fmt.Sprintf("kind: Route\nmetadata: {namespace: rt, name: %[1]s, annotations: {%[2]s}}\nspec: {host: %[1]s.rt.test, to: {kind: Service, name: web}}\n", name, annotations)
	if limits != "" {
		text += fmt.Sprintf("---\nkind: RoutePolicy\nmetadata: {namespace: rt, name: %[1]s}\nspec:\n  targetRefs: [{group: route.openshift.io, kind: Route, name: %[1]s}]\n  limits: {%[2]s}\n", name, limits)
	}
	return text
}

// hourly is a limit of rates, with further fields.
func hourly(burst int, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("requests: [{name: hourly, requests: %d, per: 1h%s}]", burst, more)
}

func limitedRoutes() string {
	routes := []string{
		ratedRoute("annotated", `fairlead.dev/limit: "5/m"`, ""),
		ratedRoute("burst", `fairlead.dev/limit: "1/h burst 3"`, ""),
		ratedRoute("byheader", `fairlead.dev/limit: "1/h", fairlead.dev/limit-key: "header:X-User"`, ""),
		ratedRoute("bycookie", `fairlead.dev/limit: "1/h", fairlead.dev/limit-key: "cookie:sid"`, ""),
		ratedRoute("byquery", `fairlead.dev/limit: "1/h", fairlead.dev/limit-key: "query:k"`, ""),
		ratedRoute("odd", "", hourly(1, `key: {type: Header, name: "X|Y~+'"}`)),
		ratedRoute("together", "", hourly(2, `key: {type: None}, status: 503, headers: Legacy`)),
		ratedRoute("byhost", "", hourly(1, `key: {type: Host}, headers: None`)),
		ratedRoute("exempt", "", hourly(1, `exempt: [127.0.0.2, "127.0.3.0/24", "2001:db8::/32"]`)),
		ratedRoute("dry", "", hourly(1, `dryRun: true`)),
		ratedRoute("two", "", `requests: [{name: all, requests: 3, per: 1h, exempt: [127.0.0.9]}, {name: each, requests: 2, per: 1h, key: {type: Header, name: X-User}}]`),
		ratedRoute("refills", "", `requests: [{name: fast, requests: 2, burst: 1}]`),
		ratedRoute("free", "", ""),
		ratedRoute("shared-a", "", ""), ratedRoute("shared-b", "", ""),
		"kind: RoutePolicy\nmetadata: {namespace: rt, name: shared}\nspec:\n  targetRefs: [{group: route.openshift.io, kind: Route, name: shared-a}, {group: route.openshift.io, kind: Route, name: shared-b}]\n  limits: {" + hourly(1, "") + "}\n",
		// Ranks: the namespace's limit holds beside that of the annotation.
		"kind: Route\nmetadata: {namespace: rs, name: ranks, annotations: {fairlead.dev/limit: \"2/h\"}}\nspec: {host: ranks.rt.test, to: {kind: Service, name: web}}\n",
		"kind: RoutePolicy\nmetadata: {namespace: rs, name: everybody}\nspec: {limits: {requests: [{name: requests, requests: 2, per: 1h, key: {type: None}}]}}\n",
	}
	return strings.Join(routes, "---\n")
}

// sendFrom sends the request of a line from an address, over plain HTTP.
func (b *bed) sendFrom(source string, e *expectation) (out response) {
	return b.sendFromTo(source, b.http, e)
}

// sendFromTo is sendFrom for another port.
func (b *bed) sendFromTo(source string, port int, e *expectation) (out response) {
	conn, err := b.dialFrom(source, port)
	if err != nil {
		return response{err: err}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	if _, err := io.WriteString(conn, e.request.text()); err != nil {
		return response{err: err}
	}
	out.read(conn, e.request.method)
	return out
}

func (b *bed) ratedBed(t *testing.T, objects, first string) {
	b.t.Helper()
	c := parseStep(t, map[string]string{"in.yaml": objects, "services": "rt/web http=8080 web@198.18.250.96\nrs/web http=8080 web@198.18.250.96"})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	b.expectStatus(func() int { return b.ask1(first) }, http.StatusOK)
}

// ask1 returns the status of a plain request for a host.
func (b *bed) ask1(host string) int {
	return b.sendFrom("127.0.0.1", &expectation{request: request{method: "GET", host: host, target: "/"}}).status
}

// TestRates: the burst is admitted at once, and not one request more. What is counted
// together is as the key says; what is refused does not count, and tells when to
// come again.
func TestRates(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())

		b.ratedBed(t, limitedRoutes(), "free.rt.test")
		long := strings.Repeat("x", 6000)
		for _, line := range []string{
			`127.0.0.1 GET http://annotated.rt.test/ -> 200 pod=web resp:RateLimit-Policy="\"requests\";q=5;w=60" resp:RateLimit="\"requests\";r=4;t=12"`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 429 again=12 remaining=0 body~"Too many requests."`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 429 again=12`,
			`127.0.0.2 GET http://annotated.rt.test/ -> 200 remaining=4`,
			`127.0.0.1 GET http://burst.rt.test/ -> 200 resp:RateLimit-Policy="\"requests\";q=3;w=10800"`,
			`127.0.0.1 GET http://burst.rt.test/ -> 200 remaining=1`,
			`127.0.0.1 GET http://burst.rt.test/ -> 200`,
			`127.0.0.1 GET http://burst.rt.test/ -> 429 again=3600`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User=a -> 200`,
			`127.0.0.1 GET http://byheader.rt.test/ h:x-user=a -> 429`,
			`127.0.0.2 GET http://byheader.rt.test/ h:X-User=a -> 429`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User=b -> 200`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User=` + long + `y -> 200`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User=` + long + `z -> 200`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User=` + long + `z -> 429`,
			`127.0.0.1 GET http://byheader.rt.test/ -> 200`,
			`127.0.0.1 GET http://byheader.rt.test/ -> 429`,
			`127.0.0.1 GET http://byheader.rt.test/ h:X-User= -> 429`,
			`127.0.0.2 GET http://byheader.rt.test/ -> 200`,
			`127.0.0.1 GET http://bycookie.rt.test/ h:Cookie="x=1; sid=a" -> 200`,
			`127.0.0.1 GET http://bycookie.rt.test/ h:Cookie="sid=a" -> 429`,
			`127.0.0.1 GET http://bycookie.rt.test/ h:Cookie="sid=b" -> 200`,
			`127.0.0.1 GET http://bycookie.rt.test/ -> 200`,
			`127.0.0.1 GET http://bycookie.rt.test/ -> 429`,
			`127.0.0.1 GET http://byquery.rt.test/?k=a -> 200`,
			`127.0.0.1 GET http://byquery.rt.test/?x=1&k=%61 -> 429`,
			`127.0.0.1 GET http://byquery.rt.test/?k=b -> 200`,
			`127.0.0.1 GET http://byquery.rt.test/?kk=b -> 200`,
			`127.0.0.1 GET http://byquery.rt.test/ -> 429`,
			`127.0.0.1 GET http://odd.rt.test/ h:X|Y~+'=a -> 200`,
			`127.0.0.1 GET http://odd.rt.test/ h:X|Y~+'=a -> 429`,
			`127.0.0.1 GET http://odd.rt.test/ h:X|Y~+'="a|b+c:d;%[src]" -> 200`,
			`127.0.0.1 GET http://odd.rt.test/ h:X|Y~+'="a|b+c:d;%[src]" -> 429`,
			`127.0.0.1 GET http://together.rt.test/ -> 200 resp:X-RateLimit-Limit=2 resp:X-RateLimit-Remaining=1 resp:RateLimit= resp:RateLimit-Policy=`,
			`127.0.0.2 GET http://together.rt.test/ -> 200 resp:X-RateLimit-Remaining=0`,
			`127.0.0.3 GET http://together.rt.test/ -> 503 again=1800 resp:X-RateLimit-Remaining=0`,
			`127.0.0.1 GET http://byhost.rt.test/ -> 200 resp:RateLimit= resp:X-RateLimit-Limit=`,
			`127.0.0.2 GET http://byhost.rt.test/ -> 429 again=3600 resp:RateLimit= resp:X-RateLimit-Limit=`,
			`127.0.0.2 GET http://byhost.rt.test:80/ -> 429`,
			`127.0.0.2 GET http://exempt.rt.test/ -> 200 resp:RateLimit=`,
			`127.0.0.2 GET http://exempt.rt.test/ -> 200`,
			`127.0.3.7 GET http://exempt.rt.test/ -> 200`,
			`127.0.3.7 GET http://exempt.rt.test/ -> 200`,
			`127.0.2.7 GET http://exempt.rt.test/ -> 200`,
			`127.0.2.7 GET http://exempt.rt.test/ -> 429`,
			`127.0.0.1 GET http://dry.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://dry.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://dry.rt.test/ -> 200 remaining=0`,
			`127.0.0.1 GET http://two.rt.test/ h:X-User=a -> 200 remaining=1`,
			`127.0.0.1 GET http://two.rt.test/ h:X-User=a -> 200 remaining=0`,
			`127.0.0.1 GET http://two.rt.test/ h:X-User=a -> 429 again=1800`,
			`127.0.0.1 GET http://two.rt.test/ h:X-User=b -> 200 remaining=0`,
			`127.0.0.1 GET http://two.rt.test/ h:X-User=c -> 429 again=1200`,
			`127.0.0.9 GET http://two.rt.test/ h:X-User=b -> 200`,
			`127.0.0.9 GET http://two.rt.test/ h:X-User=b -> 429`,
			`127.0.0.1 GET http://shared-a.rt.test/ -> 200`,
			`127.0.0.1 GET http://shared-a.rt.test/ -> 429`,
			`127.0.0.1 GET http://shared-b.rt.test/ -> 200`,
			`127.0.0.1 GET http://ranks.rt.test/ -> 200`,
			`127.0.0.2 GET http://ranks.rt.test/ -> 200`,
			`127.0.0.2 GET http://ranks.rt.test/ -> 429`,
			`127.0.0.3 GET http://ranks.rt.test/ -> 429`,
			`127.0.0.1 GET http://refills.rt.test/ -> 200`,
			`127.0.0.1 GET http://refills.rt.test/ -> 429 again=1`,
		} {
			b.expectCounted(line)
		}
		b.eventually("half a second later there is one more", func() error {
			if got := b.ask1("refills.rt.test"); got != http.StatusOK {
				return fmt.Errorf("status %d", got)
			}
			return nil
		})
		b.changeRate(t, version)
	})
}

// expectCounted checks a line that begins with the address of a client.
func (b *bed) expectCounted(line string) {
	b.t.Helper()
	if err := b.counted(line); err != nil {
		b.t.Error(err)
	}
}

// counted returns what is wrong with the answer to a line that begins with the address of
// a client.
func (b *bed) counted(line string) error {
	b.t.Helper()
	source, text, _ := strings.Cut(line, " ")
	e, err := parseLine(strings.ReplaceAll(text, `\"`, "\x00"))
	if err != nil {
		b.t.Fatal(err)
	}
	res := b.sendFrom(source, e)
	var words [][2]string
	var wrong []error
	for _, w := range e.want {
		switch w[0] {
		case "again": // seconds, of which some may have passed
			want, _ := strconv.Atoi(w[1])
			if got, err := strconv.Atoi(res.header.Get("Retry-After")); err != nil || got > want || got < want-10 {
				wrong = append(wrong, fmt.Errorf("Retry-After %q, want %d", res.header.Get("Retry-After"), want))
			}
		case "remaining":
			if got := res.header.Get("RateLimit"); !strings.Contains(got, ";r="+w[1]+";") {
				wrong = append(wrong, fmt.Errorf("RateLimit %q", got))
			}
		default:
			words = append(words, [2]string{w[0], strings.ReplaceAll(w[1], "\x00", `"`)})
		}
	}
	e.want = words
	pod := ""
	if res.pod != nil {
		pod = "web"
	}
	if err := errors.Join(append(wrong, e.check(res, pod, nil))...); err != nil {
		return fmt.Errorf("%.200s: %w", line, err)
	}
	return nil
}

// changeRate changes limits, which is live at once and no reload where HAProxy has
// no need for it.
func (b *bed) changeRate(t *testing.T, version string) {
	b.t.Helper()
	before := b.reloads()
	b.apply(objectsChange(t, ratedRoute("annotated", `fairlead.dev/limit: "1000/s"`, "")))
	for range 20 {
		b.expectCounted(`127.0.0.1 GET http://annotated.rt.test/ -> 200`)
	}
	b.apply(objectsChange(t, ratedRoute("annotated", `fairlead.dev/limit: "2/h"`, "")))
	for _, want := range []int{200, 200, 429} {
		b.expectCounted(fmt.Sprintf(`127.0.0.1 GET http://annotated.rt.test/ -> %d`, want))
	}
	b.apply(objectsChange(t, ratedRoute("annotated", "", "")))
	b.expectCounted(`127.0.0.1 GET http://annotated.rt.test/ -> 200 resp:RateLimit=`)
	if got := b.reloads() - before; got != 0 {
		b.t.Errorf("%d reloads of HAProxy %s", got, version)
	}
}

// TestRatesRace: where several threads count the same key, no more are admitted than
// the burst has. A thread that is stopped between looking and counting changes nothing.
func TestRatesRace(t *testing.T) {
	t.Parallel()
	const threads, burst, requests = 4, 20, 400
	b := newBed(t, "haproxy", newMemory())
	ic := &operatorv1.IngressController{}
	ic.Spec.TuningOptions.ThreadCount = threads
	b.controller.Store(ic)
	b.ratedBed(t, ratedRoute("raced", "", hourly(burst, ""))+"---\n"+ratedRoute("free", "", ""), "free.rt.test")
	var admitted atomic.Int32
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for range requests / 16 {
				if b.ask1("raced.rt.test") == http.StatusOK {
					admitted.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := admitted.Load(); n < burst-threads || n > burst {
		t.Errorf("%d requests of a burst of %d were admitted by %d threads", n, burst, threads)
	}
}

// TestRatesAboveBurst: a key that is above its burst for a moment, because threads have taken
// more than there was and not given it back yet, refuses as one that is at it. It once
// started again from nothing.
func TestRatesAboveBurst(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.ratedBed(t, ratedRoute("above", "", hourly(20, ""))+"---\n"+ratedRoute("free", "", ""), "free.rt.test")
		for range 20 {
			if got := b.ask1("above.rt.test"); got != http.StatusOK {
				t.Fatalf("status %d within the burst", got)
			}
		}
		var socket runtime.SingleRuntime
		if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
			t.Fatal(err)
		}
		table, err := socket.ExecuteWithResponse("show table router_rates")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(table, "key=")
		key, _, found := strings.Cut(rest, " ")
		if !found {
			t.Fatalf("no key in %s", table)
		}
		for _, taken := range []int{21, 84, 20} {
			if out, err := socket.ExecuteWithResponse(fmt.Sprintf("set table router_rates key %s data.gpc %d", key, taken)); err != nil {
				t.Fatal(out, err)
			}
			for range 3 {
				if got := b.ask1("above.rt.test"); got != http.StatusTooManyRequests {
					t.Errorf("status %d where %d of 20 are taken", got, taken)
				}
			}
		}
	})
}

// TestRatesFlood: a flood of keys to the Route of one namespace does not make HAProxy
// forget what it counts for another one, and still counts by itself. Of IPv6
// addresses the bits count that the key says.
func TestRatesFlood(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		const keys = 300
		b := floodBed(t, version, keys, map[string]string{"services": "rt/web http=8080 web@198.18.250.96\nrs/web http=8080 web@198.18.250.96", "in.yaml": ratedRoute("victim", "", hourly(1, "")) + "---\n" +
			ratedRoute("wide", "", hourly(1, "key: {type: Address, ipv6Prefix: 56}")) + "---\n" +
			"kind: Route\nmetadata: {namespace: rs, name: flooded, annotations: {fairlead.dev/limit: \"1/h\", fairlead.dev/limit-key: \"header:X-Key\"}}\nspec: {host: flooded.rt.test, to: {kind: Service, name: web}}\n"})
		get := func(host, family, source, key string) int {
			to := map[string]string{"TCP4": "203.0.113.1", "TCP6": "2001:db8::1"}[family]
			return b.statusFrom(family+" "+source+" "+to, "Host: "+host+".rt.test\r\nX-Key: "+key)
		}
		b.expectStatus(func() int { return get("victim", "TCP4", "198.51.100.1", "") }, http.StatusOK)
		for _, test := range []struct {
			source string
			want   int
		}{
			{"2001:db8:1:100::1", 200}, {"2001:db8:1:1ff:1::", 429}, {"2001:db8:1:200::1", 200}, {"2001:db8:1:2ff:1::", 429},
		} {
			if got := get("wide", "TCP6", test.source, ""); got != test.want {
				t.Errorf("%s: %d, want %d", test.source, got, test.want)
			}
		}
		if got := get("victim", "TCP6", "2001:db8:1:100::1", ""); got != http.StatusOK {
			t.Errorf("a network of 64 bits: %d", got)
		}
		if got := get("victim", "TCP6", "2001:db8:1:1ff::1", ""); got != http.StatusOK {
			t.Errorf("another network of 64 bits: %d", got)
		}
		for i := range 2 * keys {
			if got := get("flooded", "TCP4", "198.51.100.2", fmt.Sprint("key", i)); got != http.StatusOK {
				t.Fatalf("key %d: %d", i, got)
			}
		}
		if got := get("victim", "TCP4", "198.51.100.1", ""); got != http.StatusTooManyRequests {
			t.Errorf("after %d keys of another namespace's route: %d", 2*keys, got)
		}
		// Where a flood overflows, its own keys are still counted.
		if got := get("flooded", "TCP4", "198.51.100.2", fmt.Sprint("key", 2*keys-1)); got != http.StatusTooManyRequests {
			t.Errorf("the last key once more: %d", got)
		}
	})
}
