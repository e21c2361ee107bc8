package cases

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const tcpGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: db, port: 5432, protocol: TCP, hostname: ignored.test}
  - {name: mail, port: 25, protocol: TCP}
`

const tcpRoutes = `
kind: TCPRoute
metadata: {namespace: gw, name: old, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: db}]
  rules: [{backendRefs: [{name: tcp1, port: 80}]}]
---
kind: TCPRoute
metadata: {namespace: gw, name: young, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRefs: [{name: gw, port: 5432}]
  rules: [{backendRefs: [{name: tcp2, port: 80}]}]
---
kind: TCPRoute
metadata: {namespace: gw, name: weights}
spec:
  parentRefs: [{name: gw, sectionName: mail}]
  rules: [{backendRefs: [{name: tcp1, port: 80, weight: 60}, {name: tcp2, port: 80, weight: 20}, {name: missing, port: 80, weight: 10}, {name: none, port: 8080, weight: 10}, {name: tcp3, port: 80, weight: 0}]}]
`

// TestGatewayTCP has HAProxy hand TCP connections on: the oldest route has those of a listener,
// and what cannot be used its share of them, which is closed.
func TestGatewayTCP(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tcpSlots = freeSlots(t)
		db, mail := b.tcpSlots.First, b.tcpSlots.First+1
		b.cluster.slots = map[int32]int32{5432: int32(db), 25: int32(mail)}
		b.start()
		b.applyStreams(t, "gw", map[string]streamService{
			"tcp1": {address: "198.18.250.209", port: 80}, "tcp2": {address: "198.18.250.210", port: 80}, "tcp3": {address: "198.18.250.211", port: 80},
		}, tcpGateway+"---"+tcpRoutes)
		b.expectStream(db, "", stream{pod: "tcp1"})
		for _, route := range []string{"old", "young", "weights"} {
			b.expectParent(t, model.Object{Kind: gateway.KindTCPRoute, Namespace: "gw", Name: route}, "Accepted", "True Accepted")
		}
		b.expectParent(t, model.Object{Kind: gateway.KindTCPRoute, Namespace: "gw", Name: "weights"}, "ResolvedRefs", "False BackendNotFound")
		b.expectListener(t, "db", "Programmed", "True Programmed")

		b.expectStream(mail, "", stream{pod: "tcp2"})
		const connections = 1000
		got := map[string]int{}
		for range connections {
			s, err := openStream(mail, "")
			if (err == nil) != (s.pod != "") {
				t.Fatalf("%+v: %v", s, err)
			}
			got[s.pod]++
		}
		for pod, want := range map[string]int{"tcp1": 600, "tcp2": 200, "": 200, "tcp3": 0} {
			if off := got[pod] - want; off < -80 || off > 80 || want == 0 && got[pod] > 0 { // five standard deviations are 78
				t.Errorf("%d connections of %d to %q, want %d: %v", got[pod], connections, pod, want, got)
			}
		}

		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindTCPRoute, Namespace: "gw", Name: "old"}}})
		b.expectStream(db, "", stream{pod: "tcp2"})
		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindTCPRoute, Namespace: "gw", Name: "young"}}})
		b.expectStream(db, "", stream{})
		if b.caps.DynamicBackends && b.reloads() != 0 {
			t.Errorf("%d reloads", b.reloads())
		}
	})
}

// TestStreamLimits: connections that are handed on whole count for the limits of a source and of
// the router, and those of TLS for the rate of handshakes.
func TestStreamLimits(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			b.tlsSlots, b.tcpSlots = freeSlots(t), freeSlots(t)
			b.cluster.slots = map[int32]int32{443: int32(b.tlsSlots.First), 5432: int32(b.tcpSlots.First)}
			ic := &operatorv1.IngressController{}
			override(`{"maxTLSConnectionRatePerSource": "120"}`)(&ic.Spec)
			b.controller.Store(ic)
		})
		b.applyStreams(t, "gw", map[string]streamService{"silent": {address: "198.18.250.215", port: 80}, "tls1": {"198.18.250.216", 80, true}}, `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: tcp, port: 5432, protocol: TCP}
  - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}
---
kind: TCPRoute
metadata: {namespace: gw, name: silent}
spec: {parentRefs: [{name: gw, sectionName: tcp}], rules: [{backendRefs: [{name: silent, port: 80}]}]}
---
kind: TLSRoute
metadata: {namespace: gw, name: tls}
spec: {parentRefs: [{name: gw, sectionName: tls}], hostnames: [tls.test], rules: [{backendRefs: [{name: tls1, port: 80}]}]}
`)
		b.eventually("the silent pod sends back", func() error {
			conn, err := b.dialFrom("127.0.0.1", b.tcpSlots.First)
			if err != nil {
				return err
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(clientTimeout))
			if _, err := conn.Write([]byte("x")); err != nil {
				return err
			}
			_, err = conn.Read(make([]byte, 1))
			return err
		})
		b.expectStream(b.tlsSlots.First, "tls.test", stream{"tls1", "tls1"})
		for source, port := range map[string]int{"127.0.0.2": b.tlsSlots.First, "127.0.0.6": b.tcpSlots.First} {
			b.holds(source, port, 150, 100)
		}
		refused := 0
		for range 150 {
			if _, err := openStream(b.tlsSlots.First, "tls.test"); err != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Error("a source gets 150 new TLS connections of 120")
		}
	})
}
