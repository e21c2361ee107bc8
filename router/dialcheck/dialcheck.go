// Package dialcheck refuses addresses at the last moment: the check is of the very address that
// is connected to, whatever name, redirect or certificate has led there.
package dialcheck

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/fairlead/fairlead/router/door/backend"
)

// Control is a function for net.Dialer.Control.
type Control = func(network, address string, _ syscall.RawConn) error

// Each returns a Control that refuses what a function has an error for.
func Each(refuse func(netip.Addr) error) Control {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrUnread, address)
		}
		return refuse(to.Addr())
	}
}

var (
	// ErrUnread is why nothing is connected to whose address cannot be read.
	ErrUnread = errors.New("is no address with a port")
	// ErrMetadata is that of NoMetadata.
	ErrMetadata = errors.New("link-local or a cloud's metadata service")
)

// NoMetadata refuses addresses of metadata services (backend.Metadata).
func NoMetadata(network, address string, c syscall.RawConn) error {
	return Each(func(to netip.Addr) error {
		if backend.Metadata(to) {
			return fmt.Errorf("%s is %w", to, ErrMetadata)
		}
		return nil
	})(network, address, c)
}
