package main

import (
	"context"
	"fmt"
	"net"
)

// maxDatagram is more than any datagram has.
const maxDatagram = 1 << 16

// datagrams answers each datagram with the app's name and what came, until ctx ends.
func (a *app) datagrams(ctx context.Context, address string) error {
	var listen net.ListenConfig
	conn, err := listen.ListenPacket(ctx, "udp", address)
	if err != nil {
		return fmt.Errorf("listen for datagrams: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read a datagram: %w", err)
		}
		answer := fmt.Sprintln(a.name, a.version, a.pod, string(buffer[:n]))
		_, _ = conn.WriteTo([]byte(answer), from) // a client that has left is no fault
	}
}
