// Package closedport has addresses at which nothing listens. The port of a listener that was closed is no such address: on a machine
// that runs many tests, another one may get it.
package closedport

import (
	"fmt"
	"syscall"
	"testing"
)

// Address returns one of 127.0.0.1 whose port is bound and not listened at until the test ends: connections are refused.
func Address(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", at.(*syscall.SockaddrInet4).Port)
}
