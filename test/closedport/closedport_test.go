package closedport

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestAddress holds that connections are refused, and that another listener cannot have the port.
func TestAddress(t *testing.T) {
	address := Address(t)
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection: %v", err)
	}
	if l, err := net.Listen("tcp", address); err == nil {
		_ = l.Close()
		t.Error("another listener got the port")
	}
}
