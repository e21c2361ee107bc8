package cases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
)

// refuse is HAProxy's word against what a route asks for, and its taking of
// what comes instead.
func (c *core) refuse(k, message string) bool {
	_, touched, ok := c.pipeline.Refuse(parseObject("Route", k), message)
	if ok {
		c.pipeline.Accept(touched)
	}
	return ok
}

// served compares the pods that a host leads to.
func (c *core) served(host, pods string) error {
	e, err := parseLine("GET http://" + host + "/ -> 200")
	if err != nil {
		return err
	}
	var got []string
	if d := decide(c.pipeline.Want(), &e.request); d.backend != nil {
		for _, s := range d.backend.Servers {
			got = append(got, podOf(s.Name))
		}
	}
	if strings.Join(got, " ") != pods {
		return fmt.Errorf("%s leads to %q, want %q", host, got, pods)
	}
	return nil
}

// TestLastGood follows a route through versions that HAProxy refuses.
func TestLastGood(t *testing.T) {
	t.Parallel()
	route := func(host, service, annotation string) change {
		return objectsChange(t, fmt.Sprintf(`
kind: Route
metadata: {namespace: l, name: r, annotations: {haproxy.router.openshift.io/timeout: %s}}
spec: {host: %s, to: {kind: Service, name: %s}}
`, annotation, host, service))
	}
	closed := objectsChange(t, `
kind: Route
metadata: {namespace: l, name: r}
spec: {host: l.test, port: {targetPort: `+api.ClosedPort+`}, to: {kind: Service, name: one}}
`)
	pods := func(line string) change {
		var s step
		if err := s.services([]string{line}); err != nil {
			t.Fatal(err)
		}
		return s.change
	}
	const refused = string(api.ReasonRefusedByHAProxy)
	k := newCore(t)
	k.apply(pods("l/one http=8080 one@198.18.250.1"))
	k.apply(pods("l/two http=8080 two@198.18.250.2"))
	for _, s := range []struct {
		name string
		do   func() bool
		host string
		pods string
		want string // status
	}{
		{"served", func() bool { k.apply(route("l.test", "one", "1s")); return true }, "l.test", "one", "admitted"},
		{"the next version is refused, the former one serves", func() bool {
			k.propose(route("m.test", "two", "2s"))
			return k.refuse("l/r", "too odd")
		}, "l.test", "one", "refused " + refused + " too odd"},
		{"its host is not taken", func() bool { return true }, "m.test", "", "refused " + refused + " the last good version keeps serving"},
		{"its pods are followed", func() bool { k.apply(pods("l/one http=8080 next@198.18.250.3")); return true }, "l.test", "next", "refused " + refused + " too odd"},
		{"a version that is invalid by itself leaves the accepted one", func() bool { k.apply(route("l.test", "one", "never")); return true }, "l.test", "next", "finding InvalidAnnotation"},
		{"a good version is served", func() bool { k.apply(route("l.test", "two", "3s")); return true }, "l.test", "two", "admitted"},
		{"a pod is refused: all stays as it was", func() bool {
			k.propose(pods("l/two http=8080 odd@198.18.250.4"))
			return k.refuse("l/r", "odd pod")
		}, "l.test", "two", "refused " + refused + " odd pod"},
		{"the next pods are tried", func() bool { k.apply(pods("l/two http=8080 even@198.18.250.5")); return true }, "l.test", "even", "admitted"},
		{"HAProxy refuses what it took before: withdrawn", func() bool { return k.refuse("l/r", "no more") }, "l.test", "", "refused " + refused + " the route is not served"},
		{"nothing is left to refuse", func() bool { return !k.refuse("l/r", "no more") }, "l.test", "", "refused " + refused + " no more"},
		{"it is tried again in time", func() bool { _, touched := k.pipeline.Retry(); k.pipeline.Accept(touched); return true }, "l.test", "even", "admitted"},
		{"another version is tried", func() bool { k.apply(route("l.test", "one", "4s")); return true }, "l.test", "next", "admitted"},
		{"what closes is refused: the former version, which is open, does not come back", func() bool {
			k.propose(closed)
			return k.refuse("l/r", "not even that")
		}, "l.test", "", "refused " + refused + " the route is not served"},
		{"it opens", func() bool { k.apply(route("l.test", "one", "5s")); return true }, "l.test", "next", "admitted"},
	} {
		if !s.do() {
			t.Errorf("%s: not so", s.name)
		}
		if err := errors.Join(k.served(s.host, s.pods), checkStatus("l/r "+s.want, k.status), k.equalsFull(t)); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
