package cases

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// TestListenerSetExample serves the example of docs/gateway/listenerset.md.
func TestListenerSetExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/listenerset.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	b := newBed(t, "haproxy", newMemory())
	b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 443: int32(b.secureSlots.First)}
	b.start()
	set := model.Object{Kind: gateway.KindListenerSet, Namespace: "shop", Name: "shop"}
	b.applyWithPods(parseStep(t, map[string]string{"services": "shop/cart http=8080 one@198.18.250.201", "in.yaml": example + "---\n" + tlsSecret(t, "shop", "shop-tls", "shop")}))
	b.expectSet(t, set, "Accepted", "False NotAllowed", 0)
	b.cluster.apply(parseStep(t, map[string]string{"in.yaml": "kind: Namespace\nmetadata: {name: shop, labels: {listeners: \"yes\"}}\n"}))
	b.expectSet(t, set, "Accepted", "True Accepted", 1)
	b.expectShown(t, "shop.example.com", "shop", 200)
}
