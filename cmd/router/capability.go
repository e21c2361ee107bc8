package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bindCapability is NET_BIND_SERVICE: the right to listen on ports below 1024.
//
// A user other than root holds it by the program's file, which a pod on the
// network of its node needs. The file only permits it (`setcap
// cap_net_bind_service+p`), so that the program also starts where the container
// may not have it, and each process takes it up itself.
const bindCapability = unix.CAP_NET_BIND_SERVICE

// mayBind reports whether the process is permitted the capability, other than by
// being root.
func mayBind() bool {
	if os.Geteuid() == 0 {
		return false
	}
	_, sets, err := capabilities()
	return err == nil && sets[0].Permitted&(1<<bindCapability) != 0
}

// takeBind makes the capability count for all threads of this process, if it is
// permitted.
func takeBind() error {
	if !mayBind() {
		return nil
	}
	header, sets, err := capabilities()
	if err != nil {
		return err
	}
	sets[0].Effective |= 1 << bindCapability
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets[0])), 0) //nolint:gosec // the kernel takes these two by address
	if errno != 0 {
		return fmt.Errorf("take up NET_BIND_SERVICE: %w", errno)
	}
	return nil
}

// ambientBind is what HAProxy inherits: its own file holds nothing.
func ambientBind() []uintptr {
	if !mayBind() {
		return nil
	}
	return []uintptr{bindCapability}
}

func capabilities() (unix.CapUserHeader, [2]unix.CapUserData, error) {
	header, sets := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return header, sets, fmt.Errorf("read the capabilities: %w", err)
	}
	return header, sets, nil
}
