package cases

import (
	"fmt"
	"net"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/router/render"
)

// TestGatewayPorts: a HAProxy that refuses the ports for Gateways, because one of them is
// another process's, serves all Routes as before; the listeners are not programmed and say
// where the reason is. Once it takes them, they are.
func TestGatewayPorts(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			b.controller.Store(&operatorv1.IngressController{})
			b.cluster.slots = map[int32]int32{}
		})
		slots := freeSlots(t)
		held, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", slots.First+1))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		ports := func(s render.Slots, threads int32) {
			b.cluster.mu.Lock()
			b.slots, b.cluster.slots = s, map[int32]int32{80: int32(slots.First)}
			b.cluster.mu.Unlock()
			b.configure(func(s *operatorv1.IngressControllerSpec) { s.TuningOptions.ThreadCount = threads })
		}
		ports(slots, 0)
		b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": gatewayObjects}))
		b.expectLine("GET http://plain.set.test/ -> 200")
		if f := b.refusal.Load(); f == nil || f.Field != "ports for Gateways" {
			t.Errorf("the refusal is told as %+v", f)
		}
		b.expectListener(t, "any", "Accepted", "True Accepted")
		b.expectListener(t, "any", "Programmed", "False Pending")
		if strings.Contains(b.log.String(), "HAProxy refused a step") {
			t.Error("entries of Gateways were sent to a HAProxy without their ports")
		}
		_ = held.Close()
		ports(slots, 2)
		b.expectListener(t, "any", "Programmed", "True Programmed")
		b.expectAtListener(t, "80 GET http://any.test/ -> 200 pod=one")
	})
}
