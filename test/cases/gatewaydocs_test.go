package cases

import (
	"os"
	"strings"
	"testing"
)

// TestGatewayTLSExample serves the example of docs/gateway/tls.md.
func TestGatewayTLSExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/tls.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	b := newBed(t, "haproxy", newMemory())
	b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 443: int32(b.secureSlots.First)}
	b.start()
	objects := strings.Join([]string{example, tlsSecret(t, "demo", "shop-tls", "shop"), tlsSecret(t, "demo", "wildcard-tls", "wildcard")}, "---\n")
	b.applyWithPods(parseStep(t, map[string]string{"services": "demo/cart http=8080 one@198.18.250.201", "in.yaml": objects}))
	b.expectShown(t, "shop.example.com", "shop", 200)
	b.expectShown(t, "www.example.com", "wildcard", 404)
	b.expectAtListener(t, "80 GET http://shop.example.com/a -> 301 location=https://shop.example.com/a")
}
