package cases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/wait"
)

func ensurePods(t testing.TB, o metav1.Object) {
	t.Helper()
	if s, ok := o.(*discoveryv1.EndpointSlice); ok {
		pods.ensure(t, s)
	}
}

// TestCore runs every case against the deciding packages alone.
func TestCore(t *testing.T) {
	t.Parallel()
	for _, c := range loadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newCore(t)
			for _, s := range c.steps {
				k.apply(s.change)
				if err := k.equalsFull(t); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
				for _, l := range s.checks["statuses"] {
					if err := checkStatus(l, k.status); err != nil {
						t.Errorf("%s: %v", s.name, err)
					}
				}
				for _, l := range s.checks["servers"] {
					if err := checkServers(l, k.pipeline.Want(), k.pipeline.Want()); err != nil {
						t.Errorf("%s: %v", s.name, err)
					}
				}
				for _, l := range s.checks["backends"] {
					if err := checkBackend(l, k.pipeline.Want()); err != nil {
						t.Errorf("%s: %v", s.name, err)
					}
				}
				for _, l := range s.checks["requests"] {
					e, err := parseLine(l)
					if err != nil {
						t.Fatal(err)
					}
					d := decide(k.pipeline.Want(), &e.request)
					answer, answered := k.judge(d, &e.request)
					done, err := e.judged(d, answer, answered)
					if !done {
						err = d.pure(e)
					}
					if err != nil {
						t.Errorf("%s: %s: %v", s.name, l, err)
					}
				}
			}
		})
	}
}

func (c *core) status(k model.Object) (model.RouteStatus, bool) {
	if known, _ := c.pipeline.Known(k); !known {
		return model.RouteStatus{}, false
	}
	return c.pipeline.Status(k), true
}

// checkServers compares a line "ns/route web-1=256 web-2=28" with the servers
// of the route's backend in a state; "ns/route -" wants none.
func checkServers(line string, want, have *plan.State) error {
	f := strings.Fields(line)
	k := parseObject("Route", f[0])
	got := map[string]string{}
	for name := range want.Backends {
		p := strings.Split(name, ":")
		if p[1] != k.Namespace || p[2] != k.Name {
			continue
		}
		b := have.Backends[name]
		if b == nil {
			return fmt.Errorf("HAProxy has no backend %s", name)
		}
		for _, s := range b.Servers {
			if !s.Stopped {
				got[podOf(s.Name)] = strconv.Itoa(s.Weight)
			}
		}
	}
	wanted := map[string]string{}
	for _, w := range f[1:] {
		if pod, weight, ok := strings.Cut(w, "="); ok {
			wanted[pod] = weight
		}
	}
	if !maps.Equal(got, wanted) {
		return fmt.Errorf("%s: servers %v, want %v", k, got, wanted)
	}
	return nil
}

// checkBackend compares a line "ns/route http_random web-1=5000ms web-2=-" with
// what is wanted: the profile of the route's backend, and the time between
// health checks of servers, "-" for none.
func checkBackend(line string, want *plan.State) error {
	f := strings.Fields(line)
	k := parseObject("Route", f[0])
	for name, b := range want.Backends {
		if p := strings.Split(name, ":"); p[1] != k.Namespace || p[2] != k.Name {
			continue
		}
		if b.Profile != f[1] {
			return fmt.Errorf("%s: profile %s, want %s", k, b.Profile, f[1])
		}
		checked := map[string]string{}
		for _, s := range b.Servers {
			checked[podOf(s.Name)] = cmp.Or(s.Options.CheckInterval, "-")
		}
		for _, w := range f[2:] {
			if pod, interval, _ := strings.Cut(w, "="); checked[pod] != interval {
				return fmt.Errorf("%s: health checks %v, want %s", k, checked, w)
			}
		}
		return nil
	}
	return fmt.Errorf("%s has no backend", k)
}

// TestHAProxy34 runs every case against one HAProxy that never reloads: the
// routes of each case come and go at run time.
func TestHAProxy34(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.start()
	first := b.pid()
	for _, c := range loadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			if c.only == "3.0" {
				t.Skip("a case of HAProxy 3.0 only")
			}
			b.t = t
			runCase(t, b, c, 0)
			b.apply(change{del: b.cluster.everything(), settings: &newMemory().settings})
		})
		b.t = t
	}
	if n := b.reloads(); n != 0 || b.pid() != first {
		t.Errorf("%d reloads, worker %d became %d; HAProxy 3.4 needs none", n, first, b.pid())
	}
}

// TestHAProxy30 and TestHAProxy32 start a router for every case: the first step
// is in the files that HAProxy starts from, the others are run time changes and
// reloads.
func TestHAProxy30(t *testing.T) {
	t.Parallel()
	reloading(t, "haproxy-3.0")
}

func TestHAProxy32(t *testing.T) {
	t.Parallel()
	reloading(t, "haproxy-3.2")
}

// differs reports whether a case is about something that HAProxy 3.2 can and 3.0 cannot: what
// render and the engine do otherwise for them (plan.CapabilitiesOf) is about policies, limits,
// pages, client certificates and the log.
func differs(name string) bool {
	return strings.HasPrefix(name, "policy-") || strings.HasPrefix(name, "pages") || strings.HasPrefix(name, "limits")
}

func reloading(t *testing.T, version string) {
	t.Helper()
	for _, c := range loadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			if c.only == "3.4" {
				t.Skip("a case of HAProxy 3.4 only")
			}
			if version == "haproxy-3.2" && !differs(c.name) {
				full.Only(t, "HAProxy 3.2 has the same files and commands as 3.0 for this")
			}
			t.Parallel()
			b := newBed(t, version, newMemory())
			b.reloadPause = 50 * time.Millisecond // how reloads are coalesced is no case's subject
			for _, o := range c.steps[0].change.put {
				ensurePods(t, o)
			}
			b.cluster.apply(c.steps[0].change)
			b.start()
			// The old worker may take a connection while it leaves.
			runCase(t, b, c, 3*time.Second)
		})
	}
}

// runCase runs the steps of a case. Requests may be repeated for a while until
// they are answered as they should.
func runCase(t *testing.T, b *bed, c *testCase, grace time.Duration) {
	t.Helper()
	k := newCore(t)
	jar := map[string]saved{}
	for _, s := range c.steps {
		b.apply(s.change)
		k.apply(s.change)
		want := k.pipeline.Want()
		for _, l := range s.checks["awaited"] {
			b.eventually(s.name+": "+l, func() error { return checkStatus(l, b.statusOf) })
		}
		for _, l := range s.checks["statuses"] {
			if err := checkStatus(l, b.statusOf); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
		for _, l := range s.checks["servers"] {
			if err := checkServers(l, want, b.readBack()); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
		for i, err := range b.expectAll(s.checks["requests"], want, jar, grace) {
			if err != nil {
				t.Errorf("%s: %s: %v", s.name, s.checks["requests"][i], err)
			}
		}
		for _, l := range s.checks["shares"] {
			if err := b.share(l, want); err != nil {
				t.Errorf("%s: %s: %v", s.name, l, err)
			}
		}
	}
}

func (b *bed) pid() int {
	b.t.Helper()
	pid := 0
	b.eventually("HAProxy answers", func() (err error) {
		pid, err = workerPID(b)
		return err
	})
	return pid
}

// expectAll checks lines side by side, because some answers take seconds; those
// with cookies follow in order.
func (b *bed) expectAll(lines []string, want *plan.State, jar map[string]saved, grace time.Duration) []error {
	errs := make([]error, len(lines))
	var inOrder []func()
	var running sync.WaitGroup
	for i, l := range lines {
		e, err := parseLine(l)
		if err != nil {
			errs[i] = err
			continue
		}
		if e.usesCookies() {
			inOrder = append(inOrder, func() { errs[i] = b.expect(e, want, jar, grace) })
			continue
		}
		running.Go(func() { errs[i] = b.expect(e, want, nil, grace) })
	}
	running.Wait()
	for _, f := range inOrder {
		f()
	}
	return errs
}

// expect sends a request until the answer is right, or the grace is over.
func (b *bed) expect(e *expectation, want *plan.State, jar map[string]saved, grace time.Duration) error {
	d := decide(want, &e.request)
	r := e.request
	if e.with != "" {
		r.header = append(slices.Clone(r.header), "Cookie: a=1; "+jar[e.with].cookie+"; b=2")
	}
	for i := range r.header { // "h:Cookie=a=1,2; <NAME>" has the saved cookie where it is written
		for name, s := range jar {
			r.header = slices.Clone(r.header)
			r.header[i] = strings.ReplaceAll(r.header[i], "<"+name+">", s.cookie)
		}
	}
	look := func() error {
		res := r.do(b.http, b.https)
		pod := ""
		if res.pod != nil {
			pod = d.podName(res.pod.Pod)
		}
		if err := e.check(res, pod, jar); err != nil {
			return err
		}
		return d.agrees(e, res)
	}
	if grace == 0 {
		return look()
	}
	return wait.Poll{Limit: grace}.Until(b.t.Context(), "the expected answer", look)
}

// share sends a line's request as often as it says and counts the pods. Two in
// a hundred may be elsewhere, because a round need not end with the last one.
func (b *bed) share(line string, want *plan.State) error {
	e, err := parseLine(line)
	if err != nil {
		return err
	}
	d := decide(want, &e.request)
	got := map[string]int{}
	for range e.times {
		res := e.request.do(b.http, b.https)
		if res.pod == nil {
			return fmt.Errorf("status %d, %w", res.status, res.err)
		}
		got[d.podName(res.pod.Pod)]++
	}
	for _, w := range e.want {
		n, err := strconv.Atoi(w[1])
		if err != nil {
			return err
		}
		if diff := got[w[0]] - n; diff*diff > max(e.times*e.times/2500, 1) {
			return fmt.Errorf("shares %v", got)
		}
	}
	return nil
}
