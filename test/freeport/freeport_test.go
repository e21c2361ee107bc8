package freeport

import (
	"fmt"
	"net"
	"testing"
)

// TestPorts: ports can be listened at, are not those of the kernel, and come once.
func TestPorts(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		port, err := TCP()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < first || port >= last {
			t.Fatalf("port %d, again: %t", port, seen[port])
		}
		seen[port] = true
	}
	port, err := UDP()
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenPacket("udp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
