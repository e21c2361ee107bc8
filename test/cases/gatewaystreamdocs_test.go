package cases

import (
	"os"
	"strings"
	"testing"
)

// example returns the manifests of a page of docs/gateway, with pods for the Services that
// streamPod serves.
func example(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/gateway/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, manifests, _ := strings.Cut(string(text), "```yaml\n")
	manifests, _, found := strings.Cut(manifests, "```")
	if !found {
		t.Fatalf("%s has no example", page)
	}
	return manifests
}

// TestTLSRouteExample serves the example of docs/gateway/tlsroute.md.
func TestTLSRouteExample(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.tlsSlots = freeSlots(t)
	b.cluster.slots = map[int32]int32{443: int32(b.tlsSlots.First)}
	b.start()
	b.applyStreams(t, "demo", map[string]streamService{
		"vault": {address: "198.18.250.212", port: 8200, secure: true}, "mqtt": {address: "198.18.250.212", port: 1883},
	}, example(t, "tlsroute.md")+"---\n"+tlsSecret(t, "demo", "mqtt-tls", "mqtt.example.com"))
	b.expectStream(b.tlsSlots.First, "vault.example.com", stream{"vault", "vault"})
	b.expectStream(b.tlsSlots.First, "mqtt.example.com", stream{"mqtt", "mqtt.example.com"})
	b.expectStream(b.tlsSlots.First, "www.example.com", stream{})
}

// TestTCPRouteExample serves the example of docs/gateway/tcproute.md.
func TestTCPRouteExample(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.tcpSlots = freeSlots(t)
	b.cluster.slots = map[int32]int32{5432: int32(b.tcpSlots.First)}
	b.start()
	b.applyStreams(t, "demo", map[string]streamService{
		"postgres": {address: "198.18.250.213", port: 5432}, "postgres-next": {address: "198.18.250.214", port: 5432},
	}, example(t, "tcproute.md"))
	b.expectStream(b.tcpSlots.First, "", stream{pod: "postgres"})
	b.expectStream(b.tcpSlots.First, "", stream{pod: "postgres-next"})
}
