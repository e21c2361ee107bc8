package cases

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/settings"
)

var takeoverRequests = flag.Int("takeover-requests", 2000, "how many requests TestTakeover sends at least, with a websocket for each 400; 200000 in its long form")

const takeoverObjects = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g, annotations: {fairlead.dev/address: router}}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: https, port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
---
`

const takeoverRoute = `
kind: Route
metadata: {namespace: gw, name: shop, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {host: a.example.com, to: {kind: Service, name: one}, tls: {termination: edge, certificate: ${cert own}, key: ${key own}, insecureEdgeTerminationPolicy: Redirect}}
`

const takeoverHTTPRoute = `
kind: HTTPRoute
metadata: {namespace: gw, name: shop, creationTimestamp: "2026-01-03T00:00:00Z", annotations: {fairlead.dev/takes-over: "%t"}}
spec:
  parentRefs: [{name: gw}]
  hostnames: [a.example.com]
  rules: [{backendRefs: [{name: two, port: 8080}]}]
`

// TestTakeover: an HTTPRoute takes the place of a Route at the router's address, gives it back,
// takes it again, and the Route goes, while clients lose no request and no connection that lasts.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, version := range supported() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, version, newMemory())
			b.cluster.apply(parseStep(t, map[string]string{"settings": "shared-address"}))
			b.adjust = func(s *settings.Settings) { s.Render.MaxConn, s.Render.Clients.PerSource = 2000, -1 }
			b.start()
			put := func(text string) {
				b.applyWithPods(parseStep(t, map[string]string{"in.yaml": strings.Trim(text, "\n") + "\n"}))
			}
			b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": strings.Trim(takeoverObjects, "\n") + "\n" + tlsSecret(t, "gw", "wild", "wild")}))
			put(takeoverRoute)
			b.expectAtRouter(t, "GET https://a.example.com/ -> 200 pod=one cert=own")

			l := &movingLoad{}
			l.slot.Store(int64(b.https))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for i := range 4 {
				l.client(ctx, false, i%2 == 0)
			}
			var sockets []net.Conn
			for range max(*takeoverRequests/400, 1) {
				sockets = append(sockets, l.websocket(t))
			}
			before := b.reloads()
			put(fmt.Sprintf(takeoverHTTPRoute, false))
			b.expectCondition(t, "gw", "shop", "PartiallyInvalid", "route shop serves a.example.com/ and goes first")
			for _, takes := range []bool{true, false, true} {
				put(fmt.Sprintf(takeoverHTTPRoute, takes))
				b.expectAtRouter(t, "GET https://a.example.com/ -> 200 "+map[bool]string{true: "pod=two cert=wild", false: "pod=one cert=own"}[takes])
			}
			b.cluster.apply(change{del: []model.Object{{Kind: route.Kind, Namespace: "gw", Name: "shop"}}})
			b.expectAtRouter(t, "GET http://a.example.com/ -> 404")
			for l.asked.Load() < int64(*takeoverRequests) && l.first.Load() == nil {
				time.Sleep(50 * time.Millisecond)
			}
			stop()
			l.clients.Wait()
			broken := 0
			for _, conn := range sockets {
				if !isOpen(conn) {
					broken++
				}
			}
			t.Logf("%d requests, %d failed; %d of %d websockets broke; %d reloads", l.asked.Load(), l.wrong.Load(), broken, len(sockets), b.reloads()-before)
			if first := l.first.Load(); first != nil || broken > 0 {
				t.Errorf("%d of %d requests failed, %d websockets broke; first: %s", l.wrong.Load(), l.asked.Load(), broken, valueOr(first))
			}
			if b.caps.DynamicBackends && b.reloads() != before {
				t.Errorf("%d reloads", b.reloads()-before)
			}
		})
	}
}
