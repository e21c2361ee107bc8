package cases

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// faultObjects are a Route with a fault, which a guard allows, and a plain one.
func faultObjects(fault string) map[string]string {
	return map[string]string{
		"services": "fp/web http=8080 web@198.18.250.110",
		"in.yaml": `kind: Route
metadata: {namespace: fp, name: web}
spec: {host: fp.test, to: {kind: Service, name: web}}
---
kind: ClusterRoutePolicy
metadata: {name: faults}
spec: {mode: Default, guard: {faultInjection: true}}
---
kind: RoutePolicy
metadata: {namespace: fp, name: fault}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: web}]
  fault: ` + fault,
	}
}

// TestFaults: a percentage of the requests is delayed or ended, within four standard
// deviations; the others are served at once; the access log says what was done. Each
// version of HAProxy does the same.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, version, newMemory())
			lines := syslog(t)
			ic := &operatorv1.IngressController{}
			ic.Spec.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
				Destination:   operatorv1.LoggingDestination{Type: operatorv1.SyslogLoggingDestinationType, Syslog: &operatorv1.SyslogLoggingDestinationParameters{Address: "127.0.0.1", Port: uint32(lines.port)}},
				HttpLogFormat: "fault=%[var(txn.fault)] status=%ST",
			}}
			b.controller.Store(ic)
			c := parseStep(t, faultObjects("{delay: {milliseconds: 40, percent: 30}, abort: {status: 502, percent: 20}, when: [{type: Header, name: X-Fault, match: Present}]}"))
			for _, o := range c.put {
				ensurePods(t, o)
			}
			b.cluster.apply(c)
			b.start()
			b.expectStatus(func() int { return b.ask1("fp.test") }, http.StatusOK)
			const n = 400
			slow, ended := 0, 0
			for range n {
				r := request{method: "GET", host: "fp.test", target: "/", header: []string{"X-Fault: yes"}}
				began := time.Now()
				switch res := r.do(b.http, b.https); {
				case res.err != nil:
					t.Fatal(res.err)
				case res.status == http.StatusBadGateway:
					ended++
				case res.status != http.StatusOK:
					t.Fatalf("status %d", res.status)
				}
				if time.Since(began) >= 40*time.Millisecond {
					slow++
				}
			}
			near(t, "delayed", slow, n, .3)
			near(t, "ended", ended, n, .2)
			for range 20 {
				if status := b.ask1("fp.test"); status != http.StatusOK {
					t.Fatalf("without the header: status %d", status)
				}
			}
			for _, line := range []string{"fault=delay status=200", "fault=abort status=502", "fault=delay+abort status=502", "fault=- status=200"} {
				lines.expect(line)
			}
		})
	}
}

// near checks a share of n, within four standard deviations.
func near(t *testing.T, what string, got, n int, share float64) {
	t.Helper()
	if off := math.Abs(float64(got) - float64(n)*share); off > 4*math.Sqrt(float64(n)*share*(1-share))+1 {
		t.Errorf("%s: %d of %d, want %s", what, got, n, fmt.Sprintf("%.1f %%", 100*share))
	}
}
