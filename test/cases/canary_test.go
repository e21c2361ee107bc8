package cases

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/explain"
)

// canaryBed serves one Route with a canary.
func canaryBed(t *testing.T, version, annotation string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	c := parseStep(t, map[string]string{"in.yaml": canaryRoute(annotation), "services": "cw/web http=8080 web@198.18.250.110\ncw/next http=8080 next@198.18.250.111"})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	b.expectStatus(func() int { return b.ask1("cw.test") }, http.StatusOK)
	return b
}

func canaryRoute(annotation string) string {
	return fmt.Sprintf("kind: Route\nmetadata: {namespace: cw, name: web, annotations: {fairlead.dev/canary: %q, haproxy.router.openshift.io/disable_cookies: \"true\"}}\nspec: {host: cw.test, to: {kind: Service, name: web}}\n", annotation)
}

// asks sends a request and returns the address of the pod that answered, and the cookies
// to send from now on.
func (b *bed) asks(header ...string) (pod string, cookies []string) {
	b.t.Helper()
	r := request{method: "GET", host: "cw.test", target: "/", header: header}
	res := r.do(b.http, b.https)
	if res.pod == nil {
		b.t.Fatalf("status %d: %v", res.status, res.err)
	}
	for _, c := range res.cookies {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	host, _, _ := strings.Cut(res.pod.Pod, ":")
	return host, cookies
}

const nextPod = "198.18.250.111"

// TestCanaryWeights: a branch gets its share of requests, within four standard
// deviations, and a client with the cookie stays where it is while shares change, as
// long as its branch gets any.
func TestCanaryWeights(t *testing.T) {
	t.Parallel()
	const n = 1000
	b := canaryBed(t, "haproxy", "next 0/1000 sticky")
	b.t = t
	var own, next []string
	for _, weight := range []int{50, 300, 700, 999} {
		b.apply(parseStep(t, map[string]string{"in.yaml": canaryRoute(fmt.Sprintf("next %d/1000 sticky", weight))}))
		got := 0
		for range n {
			pod, cookies := b.asks()
			if len(cookies) != 1 {
				t.Fatalf("cookies %v, want one", cookies)
			}
			if pod == nextPod {
				got++
				next = cookies
			} else if own == nil {
				own = cookies
			}
		}
		share := float64(weight) / 1000
		if off := math.Abs(float64(got) - n*share); off > 4*math.Sqrt(n*share*(1-share))+1 {
			t.Errorf("weight %d of 1000: the canary got %d of %d", weight, got, n)
		}
		for range 20 {
			if pod, cookies := b.asks("Cookie: " + own[0]); pod == nextPod || len(cookies) > 0 {
				t.Fatalf("weight %d: a client of the route's own Service went to %s, cookies %v", weight, pod, cookies)
			}
			if pod, _ := b.asks("Cookie: " + next[0]); pod != nextPod {
				t.Fatalf("weight %d: a client of the canary went to %s", weight, pod)
			}
		}
	}
	for weight, want := range map[int]bool{0: false, 1000: true} {
		b.apply(parseStep(t, map[string]string{"in.yaml": canaryRoute(fmt.Sprintf("next %d/1000 sticky", weight))}))
		for _, cookie := range []string{own[0], next[0]} {
			if pod, _ := b.asks("Cookie: " + cookie); (pod == nextPod) != want {
				t.Errorf("weight %d: cookie %s led to %s", weight, cookie, pod)
			}
		}
	}
	if reloads := b.reloads(); reloads != 0 {
		t.Errorf("%d reloads", reloads)
	}
}

// TestCanaryExplained: explain names the backend that HAProxy chooses, and why.
func TestCanaryExplained(t *testing.T) {
	t.Parallel()
	b := canaryBed(t, "haproxy", `next header:X-A=1 not-header:X-A=2 header:X-B~=^v[0-9]+$ cookie:c=yes query:q^=a query:p`)
	b.t = t
	w := explainer(t, b.cluster)
	for _, test := range []struct {
		target  string
		headers []string
		canary  bool
		why     string
	}{
		{"/", nil, false, "no condition is met"},
		{"/", []string{"X-A: 1"}, true, `header X-A is "1"`},
		{"/", []string{"X-A: 2", "Cookie: c=yes"}, false, `header X-A is "2"`},
		{"/", []string{"X-A: 2", "X-A: 1"}, true, `header X-A is "1"`},
		{"/", []string{"x-b: v12"}, true, `header X-B matches`},
		{"/", []string{"X-B: v1x"}, false, "no condition is met"},
		{"/", []string{"X-B: v" + strings.Repeat("1", 128)}, false, "no condition is met"},
		{"/", []string{"Cookie: a=1; c=yes"}, true, `cookie c is "yes"`},
		{"/", []string{"Cookie: c=yes2"}, false, "no condition is met"},
		{"/?q=%61bc", nil, true, `parameter q begins with "a"`},
		{"/?xq=a&q=b", nil, false, "no condition is met"},
		{"/?p=", nil, true, "there is a parameter p"},
	} {
		args := explain.RequestArgs{URL: "http://cw.test" + test.target, Headers: test.headers}
		r, err := explain.ParseRequest(args)
		if err != nil {
			t.Fatal(err)
		}
		e := w.Explain(r)
		if e.Branch == nil || e.Branch.Canary != test.canary || !strings.Contains(e.Branch.Why, test.why) || !e.Served {
			t.Errorf("%s %v: explain says %+v", test.target, test.headers, e.Branch)
			continue
		}
		asked := request{method: "GET", host: "cw.test", target: test.target, header: test.headers}
		res := asked.do(b.http, b.https)
		if res.pod == nil || strings.HasPrefix(res.pod.Pod, nextPod) != test.canary || e.Endpoints[0].Address != res.pod.Pod {
			t.Errorf("%s %v: explain says %+v, HAProxy answers %d by %+v", test.target, test.headers, e.Branch, res.status, res.pod)
		}
	}
}
