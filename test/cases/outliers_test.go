package cases

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestOutliers: a pod whose answers are errors gets no requests for a while, though it says
// that it is well; then it gets some again, and the next time it is out for longer. Not more
// than half of the pods are out, and where only connections count, none is.
func TestOutliers(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		port := map[string]string{"haproxy": "9463", "haproxy-3.2": "9464", "haproxy-3.0": "9465"}[version]
		var pods []*probedPod
		for i, name := range []string{"a", "b", "c"} {
			pods = append(pods, newProbedPod(t, name, fmt.Sprintf("198.18.250.22%d:%s", i, port)))
		}
		b := newBed(t, version, newMemory())
		b.start()
		var s step
		if err := s.services([]string{"ol/web http=" + port + " a@198.18.250.220 b@198.18.250.221 c@198.18.250.222"}); err != nil {
			t.Fatal(err)
		}
		b.apply(s.change)
		var docs []string
		for name, passive := range map[string]string{"all": "ejection: 2s, within: 4s", "few": "errors: 1000", "connections": "kinds: [Connection], ejection: 2s"} {
			docs = append(docs, fmt.Sprintf("kind: Route\nmetadata: {namespace: ol, name: %[1]s, annotations: {haproxy.router.openshift.io/disable_cookies: \"true\", haproxy.router.openshift.io/balance: roundrobin}}\nspec: {host: %[1]s.ol.test, to: {kind: Service, name: web}}", name),
				fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: ol, name: %[1]s}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: %[1]s}], health: {passive: {%[2]s}}}", name, passive))
		}
		b.apply(objectsChange(t, strings.Join(docs, "\n---\n")))
		hosts := []string{"all.ol.test", "few.ol.test", "connections.ol.test"}
		b.answersFrom("all pods answer", "abc", hosts...)
		reloads := b.reloads()

		pods[1].broken.Store(true)
		b.answersFrom("the broken pod is out", "ac", hosts[0])
		b.answersFrom("the other Routes keep it", "abc", hosts[1:]...)
		b.answersFrom("it is tried again", "abc", hosts[0])
		b.answersFrom("and out again", "ac", hosts[0])
		if n := b.gauge("fairlead_router_ejected_endpoints"); n != 1 {
			t.Errorf("%v endpoints are told to be out", n)
		}
		pods[0].broken.Store(true)
		for range 40 { // no more than half may be out
			if r := b.get(hosts[0]); r.header.Get("X-Pod") == "" || r.status != http.StatusInternalServerError && r.status != http.StatusOK {
				t.Fatalf("status %d of pod %q", r.status, r.header.Get("X-Pod"))
			}
		}
		b.answersFrom("one of two is out", "ac", hosts[0])
		for _, p := range pods {
			p.broken.Store(false)
		}
		b.answersFrom("all pods answer at the end", "abc", hosts...)
		if n := b.reloads() - reloads; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}
