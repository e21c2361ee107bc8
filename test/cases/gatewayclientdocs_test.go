package cases

import (
	"os"
	"strings"
	"testing"
)

// TestGatewayClientsExample serves the example of docs/gateway/clientcertificates.md, with an
// authority that has signed something.
func TestGatewayClientsExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/clientcertificates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	before, rest, _ := strings.Cut(example, "    -----BEGIN")
	_, after, found := strings.Cut(rest, "END CERTIFICATE-----\n")
	if !found {
		t.Fatal("the example has no certificate")
	}
	ca := "    " + strings.ReplaceAll(strings.TrimSpace(pki().ca(t, "client-a").certPEM), "\n", "\n    ") + "\n"
	b := newBed(t, "haproxy", newMemory())
	b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
	b.cluster.slots = map[int32]int32{443: int32(b.secureSlots.First), 8443: int32(b.secureSlots.First + 1)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": "demo/cart http=8080 one@198.18.250.201", "in.yaml": before + ca + after + "---\n" + tlsSecret(t, "demo", "shop-tls", "shop")}))
	b.expectAtPort(t, 443, "GET https://shop.test/ as=alice@client-a -> 200 seen:Ssl-Client-Verify=SUCCESS")
	b.expectAtPort(t, 443, "GET https://shop.test/ -> closed")
	b.expectAtPort(t, 8443, "GET https://shop.test/ -> 200 seen:Ssl-Client-Verify=")
}
