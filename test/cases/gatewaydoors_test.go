package cases

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/full"
)

const doorsGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}, allowedRoutes: {namespaces: {from: All}}}
`

// TestGatewayClosedDoors is TestClosedDoors for HTTPRoutes: whatever goes wrong with what
// protects them, no request that it is to keep out reaches a pod, at listeners of HTTP and of
// HTTPS. What HTTPRoutes cannot have closes them.
func TestGatewayClosedDoors(t *testing.T) {
	t.Parallel()
	for _, version := range full.Or(versions, []string{"haproxy"}) { // TestClosedDoors is on both
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := &doorsBed{bed: newBed(t, version, newMemory()), doors: closedDoors(t)}
			for i := range b.doors {
				d := &b.doors[i]
				d.gateway, d.shut = true, d.shut || d.routeOnly
			}
			b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
			b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8443: int32(b.secureSlots.First)}
			if version == "haproxy" {
				b.countAlone("127.0.75.2")
				b.startAgent()
				b.startFirewall()
			}
			b.start()
			b.applyWithPods(parseStep(t, map[string]string{"in.yaml": strings.Trim(doorsGateway, "\n") + "\n---\n" + tlsSecret(t, "gw", "any", "any")}))
			b.applyWithPods(change{put: b.objects(t)})
			b.plain, b.secure = b.slots.First, b.secureSlots.First
			faults := slices.Concat(objectFaults(), grantFaults(), trafficFaults(), lateFaults(), processFaults())
			b.suffer(t, slices.DeleteFunc(faults, func(f fault) bool { return f.routeOnly }))
		})
	}
}
