package cases

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestLimitsFlood: a flood from many sources to the route of one namespace does
// not make HAProxy forget what it counts for a route of another one, and all
// addresses of an IPv6 network of 64 bits count together.
func TestLimitsFlood(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		const keys = 300
		b := floodBed(t, version, keys, map[string]string{"services": "victim/web http=8080 web@198.18.250.95\nflooded/web http=8080 web@198.18.250.95", "in.yaml": `
kind: Route
metadata: {namespace: victim, name: login, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.rate-http: "2"}}
spec: {host: login.lf.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: flooded, name: any, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.rate-http: "1"}}
spec: {host: any.lf.test, to: {kind: Service, name: web}}
`})
		get := func(host, family, source string) int {
			return b.statusFrom(fmt.Sprintf(family, source), "Host: "+host)
		}
		const v4, v6 = "TCP4 %s 203.0.113.1", "TCP6 %s 2001:db8::1"
		b.expectStatus(func() int { return get("login.lf.test", v6, "2001:db8:1::1") }, http.StatusOK)
		began := time.Now()
		for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
			if got := get("login.lf.test", v6, fmt.Sprintf("2001:db8:1::%x", i+2)); got != want {
				t.Errorf("request %d of an IPv6 network: %d, want %d", i+2, got, want)
			}
		}
		if got := get("login.lf.test", v6, "2001:db8:1:1::1"); got != http.StatusOK {
			t.Errorf("another network: %d", got)
		}
		for i := range 2 * keys {
			if got := get("any.lf.test", v4, fmt.Sprintf("198.18.%d.%d", i/250, i%250+1)); got != http.StatusOK {
				t.Fatalf("source %d: %d", i, got)
			}
		}
		// The requests of before count for ten seconds.
		if got, took := get("login.lf.test", v6, "2001:db8:1::1"), time.Since(began); got != http.StatusTooManyRequests && took < 9*time.Second {
			t.Errorf("%s later, after %d sources of another namespace's route: %d", took, 2*keys, got)
		}
		// Where a flood overflows, its own sources are still counted.
		if got := get("any.lf.test", v4, "198.18.2.100"); got != http.StatusTooManyRequests {
			t.Errorf("the last source's second request: %d", got)
		}
	})
}

// floodBed starts a router that remembers so many keys of limits, and believes the
// PROXY protocol about who a client is.
func floodBed(t *testing.T, version string, keys int, step map[string]string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.limitKeys = keys
	ic := &operatorv1.IngressController{}
	ic.Spec.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
		Type: operatorv1.NodePortServiceStrategyType, NodePort: &operatorv1.NodePortStrategy{Protocol: operatorv1.ProxyProtocol},
	}
	b.controller.Store(ic)
	c := parseStep(t, step)
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	return b
}

// statusFrom returns the status of a request in the name of a client, which is as the
// PROXY protocol has it: family, source and destination.
func (b *bed) statusFrom(client, headers string) int {
	b.t.Helper()
	conn, err := b.dialFrom("127.0.0.9", b.http)
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	if _, err := fmt.Fprintf(conn, "PROXY %s 4444 80\r\nGET / HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n", client, headers); err != nil {
		b.t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = r.Body.Close()
	return r.StatusCode
}

func (b *bed) expectStatus(get func() int, want int) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("status %d", want), func() error {
		if got := get(); got != want {
			return fmt.Errorf("status %d", got)
		}
		return nil
	})
}
