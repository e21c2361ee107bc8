package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/full"
)

// refuser is a HAProxy that refuses files with a backend of a route named
// "poison" or with an annotation of this test, as a real one would refuse
// something unforeseen. It spoils the files, so that what
// refuses them, and says why, is HAProxy itself, at its start and, since the
// master starts again by the name it was called, at reloads as well. If two
// routes meet that are bad together, it spoils a line of no route.
const refuser = `#!/bin/bash
for file; do :; done
case "$1" in
-v|-vv) ;;
*)
	if [ -w "$file" ]; then
		sed -i '/^backend.*:poison:.* from [a-z_]*$/s/$/ nonsense/' "$file"
		if grep -q ':bad-one:' "$file" && grep -q ':bad-two:' "$file"; then
			sed -i 's/^global$/global nonsense/' "$file"
		fi
	fi
	;;
esac
exec -a "$0" %s "$@"
`

// poisonedBed returns a bed whose HAProxy is a refuser, over a cluster with the
// sample and further objects.
func poisonedBed(t *testing.T, version, objects string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	script := filepath.Join(b.layout.Dir, "refuser")
	if err := os.WriteFile(script, fmt.Appendf(nil, refuser, b.binary), 0o700); err != nil {
		t.Fatal(err)
	}
	b.binary = script
	ch := sampleChange(t)
	for _, o := range ch.put {
		ensurePods(t, o)
	}
	b.cluster.apply(ch)
	b.cluster.apply(objectsChange(t, objects))
	return b
}

func objectsChange(t *testing.T, yaml string) change {
	t.Helper()
	var s step
	if err := s.objects(strings.TrimSpace(pki().expand(t, yaml))); err != nil {
		t.Fatal(err)
	}
	return s.change
}

// refused waits until a route is told that HAProxy refused it, with a text.
func (b *bed) refused(route, text string) {
	b.t.Helper()
	b.eventually("the refused route is told", func() error {
		st, _ := b.statusOf(parseObject("Route", route))
		if st.Admitted || st.Reason != api.ReasonRefusedByHAProxy || !strings.Contains(st.Message, text) {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
}

// TestPoisonedBoot starts a router on a set of routes of which HAProxy refuses
// one. It is found and left out, and all others are served. The next start
// knows it.
func TestPoisonedBoot(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := poisonedBed(t, version, `
kind: Route
metadata: {namespace: f, name: poison}
spec: {host: poison.f.test, to: {kind: Service, name: web}}
`)
		b.start()
		k := newCore(t)
		k.apply(sampleChange(t))
		b.serves(k, sampleRequests)
		b.refused("f/poison", "nonsense")
		if n := b.reloads(); n != 0 {
			t.Errorf("%d reloads", n)
		}
		b.stop()
		before := strings.Count(b.log.String(), "HAProxy refuses a route")
		b.start()
		b.serves(k, sampleRequests)
		b.refused("f/poison", "nonsense")
		if n := strings.Count(b.log.String(), "HAProxy refuses a route"); n != before {
			t.Errorf("the second start found the route again, %d times", n-before)
		}
	})
}

// TestPoisonedTogether starts a router on routes of which two are refused if
// both are there, without a word about which. The older one is served.
func TestPoisonedTogether(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := poisonedBed(t, version, `
kind: Route
metadata: {namespace: f, name: bad-two, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {host: two.f.test, to: {kind: Service, name: two}}
---
kind: Route
metadata: {namespace: f, name: bad-one, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {host: one.f.test, to: {kind: Service, name: two}}
`)
		b.start()
		k := newCore(t)
		k.apply(sampleChange(t))
		k.apply(objectsChange(t, `
kind: Route
metadata: {namespace: f, name: bad-one}
spec: {host: one.f.test, to: {kind: Service, name: two}}
`))
		b.serves(k, append([]string{"GET http://one.f.test/ -> 200 pod=c", "GET http://two.f.test/ -> 404"}, sampleRequests...))
		b.refused("f/bad-two", "nonsense")
	})
}

// TestPoisonedReload changes a served route so that HAProxy refuses to reload:
// the version before serves on, and all else goes live. HAProxy 3.4 does not
// reload for it, so it is about the others.
func TestPoisonedReload(t *testing.T) {
	t.Parallel()
	for _, version := range full.Or([]string{"haproxy-3.0", "haproxy-3.2"}, []string{"haproxy-3.0"}) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			route := func(balance string) string {
				return fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: pair, annotations: {haproxy.router.openshift.io/balance: %s}}
spec: {host: pair.f.test, to: {kind: Service, name: two}}
`, balance)
			}
			b := poisonedBed(t, version, route("random"))
			script, err := os.ReadFile(b.binary)
			if err != nil {
				t.Fatal(err)
			}
			poisoned := strings.ReplaceAll(string(script), ":poison:.* from [a-z_]*$", ":pair:.* from http_leastconn_cookie$")
			if err := os.WriteFile(b.binary, []byte(poisoned), 0o700); err != nil {
				t.Fatal(err)
			}
			b.start()
			k := newCore(t)
			k.apply(sampleChange(t))
			k.apply(objectsChange(t, route("random")))
			lines := append([]string{"GET http://pair.f.test/ -> 200 pod=c"}, sampleRequests...)
			b.serves(k, lines)
			another := objectsChange(t, `
kind: Route
metadata: {namespace: f, name: another}
spec: {host: another.f.test, to: {kind: Service, name: web}}
`)
			next := objectsChange(t, route("leastconn"))
			next.put = append(next.put, another.put...)
			b.apply(next)
			k.apply(another)
			b.refused("f/pair", "the last good version keeps serving")
			lines = append(lines, "GET http://another.f.test/ -> 200 pod=a|b")
			b.serves(k, lines)
			// It also outlives everything that may end.
			b.stop()
			b.start()
			b.serves(k, lines)
			b.apply(objectsChange(t, route("source")))
			if err := checkStatus("f/pair admitted", b.statusOf); err != nil {
				t.Error(err)
			}
		})
	}
}
