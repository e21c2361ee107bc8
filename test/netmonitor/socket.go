package netmonitor

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/test/cluster"
)

const (
	firstPort = 1024
	ports     = 1<<16 - firstPort
	// portTime is how long a port is that of the next request. A monitor that
	// sends no more often than that uses none that an earlier one used within
	// eleven minutes.
	portTime = 10 * time.Millisecond
)

// portOf is the client's port for the n-th request. The kernel would choose the
// same ones again within half a minute. Nodes remember the pod that an earlier
// connection from it went to, for two minutes, or for days if they did not see
// its end; if that pod is gone, so are all packets of the new connection.
func portOf(n int64) uint16 { return uint16(firstPort + n%ports) }

// Answering returns the cards that answer now, within the time to wait, for an
// address on the cluster's LAN. Only the caller sees the answers.
func Answering(c *cluster.Cluster, address string, wait time.Duration) (cards []string, err error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	var conn *packet.Conn
	err = inside(c.Name()+"-"+client, func() error {
		ifi, err := net.InterfaceByName("eth0")
		if err != nil {
			return fmt.Errorf("find the interface: %w", err)
		}
		conn, err = packet.Listen(ifi, packet.Raw, unix.ETH_P_ARP, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	ask(conn, addr)
	for buf := make([]byte, 128); ; {
		n, _, err := conn.ReadFrom(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return cards, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ask for an address: %w", err)
		}
		f, ok := parse(buf[:n])
		if ok && f.reply && f.from.Addr() == addr && f.to.Addr() != addr && !slices.Contains(cards, f.owner.String()) {
			cards = append(cards, f.owner.String())
		}
	}
}
