package cases

import (
	"fmt"
	"net/http"
	"testing"
)

// hashServices are so many pods of one Service.
func hashServices(pods int) string {
	line := "cw/web http=8080"
	for i := range pods {
		line += fmt.Sprintf(" web%d@198.18.250.%d", i, 120+i)
	}
	return line
}

func hashRoute(by string) string {
	return fmt.Sprintf("kind: Route\nmetadata: {namespace: cw, name: web, annotations: {fairlead.dev/hash-by: %q, haproxy.router.openshift.io/disable_cookies: \"true\"}}\nspec: {host: cw.test, to: {kind: Service, name: web}}\n", by)
}

// hashBed serves one Route whose pods are chosen by a hash.
func hashBed(t *testing.T, by string, pods int) *bed {
	t.Helper()
	b := newBed(t, "haproxy", newMemory())
	c := parseStep(t, map[string]string{"in.yaml": hashRoute(by), "services": hashServices(pods)})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	b.expectStatus(func() int { return b.ask1("cw.test") }, http.StatusOK)
	return b
}

// led are the pods that values of a header lead to.
func (b *bed) led(values int) []string {
	b.t.Helper()
	out := make([]string, values)
	for i := range out {
		header := fmt.Sprintf("X-User: user-%d", i)
		out[i], _ = b.asks(header)
		if again, _ := b.asks(header); again != out[i] {
			b.t.Fatalf("%s led to %s and then to %s", header, out[i], again)
		}
	}
	return out
}

// TestHash: a value leads to one pod, at each replica to the same one; values are spread
// over all pods; and an eleventh pod takes over about as many as it has to, all others
// stay.
func TestHash(t *testing.T) {
	t.Parallel()
	const values, pods = 300, 10
	b, replica := hashBed(t, "header:X-User", pods), hashBed(t, "header:X-User", pods-1)
	b.t, replica.t = t, t
	// The replica learnt of its pods in another order.
	replica.apply(parseStep(t, map[string]string{"services": hashServices(pods)}))
	before := b.led(values)
	count := map[string]int{}
	for i, pod := range replica.led(values) {
		count[before[i]]++
		if pod != before[i] {
			t.Fatalf("value %d leads to %s at one replica and to %s at the other", i, before[i], pod)
		}
	}
	if len(count) != pods {
		t.Errorf("%d of %d pods got values: %v", len(count), pods, count)
	}
	b.apply(parseStep(t, map[string]string{"services": hashServices(pods + 1)}))
	moved := 0
	for i, pod := range b.led(values) {
		if pod == before[i] {
			continue
		}
		if moved++; pod != fmt.Sprintf("198.18.250.%d", 120+pods) {
			t.Errorf("value %d moved from %s to %s, which was there before", i, before[i], pod)
		}
	}
	if moved == 0 || moved > values/5 {
		t.Errorf("an eleventh pod moved %d of %d values", moved, values)
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestHashSources: each source leads by its value, as the client sent it, and without
// it pods take turns.
func TestHashSources(t *testing.T) {
	t.Parallel()
	b := hashBed(t, "host", 8)
	b.t = t
	for by, of := range map[string]func(i int) request{
		"cookie:id": func(i int) request {
			return request{target: "/", header: []string{fmt.Sprintf("Cookie: a=b; id=%d", i)}}
		},
		"query:id": func(i int) request { return request{target: fmt.Sprintf("/?x=1&id=%d", i)} },
		"path":     func(i int) request { return request{target: fmt.Sprintf("/%d?x", i)} },
		"uri":      func(i int) request { return request{target: fmt.Sprintf("/?%d", i)} },
	} {
		b.apply(parseStep(t, map[string]string{"in.yaml": hashRoute(by)}))
		seen := map[string]bool{}
		for i := range 40 {
			r := of(i)
			r.method, r.host = "GET", "cw.test"
			first := ""
			for range 3 {
				res := r.do(b.http, b.https)
				if res.pod == nil {
					t.Fatalf("%s: status %d: %v", by, res.status, res.err)
				}
				if first == "" {
					first = res.pod.Pod
				}
				if res.pod.Pod != first {
					t.Fatalf("%s: %s led to %s and then to %s", by, r.target, first, res.pod.Pod)
				}
			}
			seen[first] = true
		}
		if len(seen) < 5 {
			t.Errorf("%s: 40 values led to %d of 8 pods", by, len(seen))
		}
	}
	seen := map[string]bool{}
	b.apply(parseStep(t, map[string]string{"in.yaml": hashRoute("header:X-User")}))
	for range 16 {
		pod, _ := b.asks()
		seen[pod] = true
	}
	if len(seen) < 4 {
		t.Errorf("16 requests without the value went to %d of 8 pods", len(seen))
	}
}
