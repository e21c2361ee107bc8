package lb

import (
	"testing"
)

// TestOneAnswer is the least that must hold: an address is answered by one node.
func TestOneAnswer(t *testing.T) {
	p := installed(t)
	apply(t, p, echoYAML("echo", "Local"))
	address := addressOf(t, p, "echo")
	t.Logf("%s is announced by %s", address, ownerOf(t, p, address))
}
