package cases

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// datagramPod answers each datagram with its name, and returns its port.
func datagramPod(t *testing.T, name, address string) int {
	t.Helper()
	c, err := net.ListenPacket("udp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(append([]byte(name+" "), buffer[:n]...), from)
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// datagramService returns manifests of a Service with one pod of the same name, at port 53.
func datagramService(t *testing.T, namespace, name, address string) string {
	t.Helper()
	return fmt.Sprintf(`---
kind: Service
metadata: {namespace: %[1]s, name: %[2]s}
spec: {ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}
---
kind: EndpointSlice
metadata: {namespace: %[1]s, name: %[2]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: tcp, port: 1, protocol: TCP}, {name: udp, port: %[3]d, protocol: UDP}]
endpoints: [{addresses: [%[4]s]}]
`, namespace, name, datagramPod(t, name, address), address)
}

// datagramClient is a socket that takes answers from the slot alone.
func datagramClient(t testing.TB, slot int) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	c, err := d.DialContext(t.Context(), "udp", fmt.Sprintf("127.0.0.1:%d", slot))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// askDatagram returns the name of the pod that a datagram of a client gets to.
func askDatagram(c net.Conn) (string, error) {
	_ = c.SetDeadline(time.Now().Add(clientTimeout))
	if _, err := c.Write([]byte("hello")); err != nil {
		return "", err
	}
	buffer := make([]byte, 1<<16)
	n, err := c.Read(buffer)
	name, back, _ := strings.Cut(string(buffer[:n]), " ")
	if err == nil && back != "hello" {
		err = fmt.Errorf("%q came back", buffer[:n])
	}
	return name, err
}

// answerOf returns the name of the pod that answers, and waits for ever.
func answerOf(c net.Conn) string {
	buffer := make([]byte, 1<<16)
	n, _ := c.Read(buffer)
	name, _, _ := strings.Cut(string(buffer[:n]), " ")
	return name
}

func (b *bed) expectDatagram(slot int, want string) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("UDP slot %d leads to %s", slot, want), func() error {
		c := datagramClient(b.t, slot)
		defer c.Close()
		switch name, err := askDatagram(c); {
		case want == "" && errors.Is(err, syscall.ECONNREFUSED):
			return nil
		case err != nil:
			return err
		case name != want:
			return fmt.Errorf("pod %s", name)
		}
		return nil
	})
}

// udpSlot returns a port that no program listens at for UDP.
func udpSlot(t *testing.T) int {
	t.Helper()
	c, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

const udpGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: dns, port: 53, protocol: UDP}
  - {name: tcp, port: 53, protocol: TCP}
  - {name: game, port: 7777, protocol: UDP}
---
kind: UDPRoute
metadata: {namespace: gw, name: old, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: dns}]
  rules: [{backendRefs: [{name: udp1, port: 53}]}]
---
kind: UDPRoute
metadata: {namespace: gw, name: young, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRefs: [{name: gw, port: 53}]
  rules: [{backendRefs: [{name: udp2, port: 53}]}]
---
kind: UDPRoute
metadata: {namespace: gw, name: weights}
spec:
  parentRefs: [{name: gw, sectionName: game}]
  rules: [{backendRefs: [{name: udp1, port: 53, weight: 60}, {name: udp2, port: 53, weight: 30}, {name: missing, port: 53, weight: 10}, {name: udp3, port: 53, weight: 0}]}]
`

// TestGatewayUDP has the policy agent relay datagrams: the oldest route has those of a listener,
// shares by weight are exact, ports open and close without HAProxy, and a worker that ends has
// sessions begin again.
func TestGatewayUDP(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	dns, game := udpSlot(t), udpSlot(t)
	b.tcpSlots = freeSlots(t)
	b.cluster.slots = map[int32]int32{53: int32(b.tcpSlots.First)}
	b.cluster.udpSlots = map[int32]int32{53: int32(dns), 7777: int32(game)}
	b.startAgent()
	b.start()
	b.cluster.apply(parseStep(t, map[string]string{"in.yaml": udpGateway + datagramService(t, "gw", "udp1", "198.18.250.230") + datagramService(t, "gw", "udp2", "198.18.250.231") + datagramService(t, "gw", "udp3", "198.18.250.232")}))
	b.expectDatagram(dns, "udp1")
	for _, route := range []string{"old", "young", "weights"} {
		b.expectParent(t, model.Object{Kind: gateway.KindUDPRoute, Namespace: "gw", Name: route}, "Accepted", "True Accepted")
	}
	b.expectParent(t, model.Object{Kind: gateway.KindUDPRoute, Namespace: "gw", Name: "weights"}, "ResolvedRefs", "False BackendNotFound")
	for _, name := range []string{"dns", "tcp", "game"} {
		b.expectListener(t, name, "Programmed", "True Programmed")
	}

	got, answers := map[string]int{}, make(chan string, 100)
	for range 100 {
		c := datagramClient(t, game)
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		go func() { answers <- answerOf(c) }()
	}
	for range 85 { // of 90; the others get none
		got[<-answers]++
	}
	if got["udp1"] < 50 || got["udp2"] < 20 || got["udp1"]+got["udp2"] != 85 {
		t.Errorf("shares of 60 and 30: %v", got)
	}

	live := datagramClient(t, dns)
	defer live.Close()
	if name, err := askDatagram(live); err != nil || name != "udp1" {
		t.Fatalf("pod %s: %v", name, err)
	}
	b.signalWorkers(syscall.SIGKILL)
	b.eventually("the session begins again", func() error {
		name, err := askDatagram(live)
		if err == nil && name != "udp1" {
			err = fmt.Errorf("pod %s", name)
		}
		return err
	})
	b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindUDPRoute, Namespace: "gw", Name: "old"}}})
	b.expectDatagram(dns, "udp2")
	b.eventually("the session begins again with the other pod", func() error {
		name, err := askDatagram(live)
		if err == nil && name != "udp2" {
			err = fmt.Errorf("pod %s", name)
		}
		return err
	})
	b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindUDPRoute, Namespace: "gw", Name: "young"}}})
	b.expectDatagram(dns, "")
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// TestUDPRouteExample serves the example of docs/gateway/udproute.md.
func TestUDPRouteExample(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	slot := udpSlot(t)
	b.cluster.udpSlots = map[int32]int32{53: int32(slot)}
	b.startAgent()
	b.start()
	b.cluster.apply(parseStep(t, map[string]string{"in.yaml": example(t, "udproute.md") + datagramService(t, "demo", "resolver", "198.18.250.233") + datagramService(t, "demo", "resolver-next", "198.18.250.234")}))
	b.expectDatagram(slot, "resolver")
	b.expectDatagram(slot, "resolver-next")
}
