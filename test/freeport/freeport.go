// Package freeport finds ports for programs that want to know their port before they listen. The kernel may give a port that
// it chose (port 0) to a connection or listener of another test before the program has it. It never chooses those here: they
// are below its range for connections (net.ipv4.ip_local_port_range, from 32768 on).
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

const first, last = 10_000, 30_000

// given are the ports that this process has got; none of them is given twice.
var given struct {
	sync.Mutex
	ports map[int]bool
}

// TCP returns a port of 127.0.0.1 at which nothing listens.
func TCP() (int, error) {
	return find(func(address string) error {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err //nolint:wrapcheck // for find
		}
		return l.Close() //nolint:wrapcheck // as above
	})
}

// UDP returns a port that no socket of 127.0.0.1 has.
func UDP() (int, error) {
	return find(func(address string) error {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			return err //nolint:wrapcheck // for find
		}
		return c.Close() //nolint:wrapcheck // as above
	})
}

func find(try func(address string) error) (port int, err error) {
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	for range 100 {
		port = first + rand.N(last-first)
		if given.ports[port] {
			continue
		}
		if err = try(fmt.Sprint("127.0.0.1:", port)); err == nil {
			given.ports[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
