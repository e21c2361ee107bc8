package l2

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// groups are the IPv6 multicast groups that an interface is a member of for our
// addresses: network cards and switches (by MLD) pass on solicitations to their
// members only. That needs no privilege, but a socket that stays open. As the
// kernel bounds the groups of a socket, there may be several.
type groups struct {
	ifindex int
	sockets []int
	joined  map[netip.Addr]int // the socket that joined
}

func newGroups(ifindex int) *groups {
	return &groups{ifindex: ifindex, joined: map[netip.Addr]int{}}
}

// set joins the groups that are missing and leaves those no longer wanted.
func (g *groups) set(wanted map[netip.Addr]bool) error {
	for group, fd := range g.joined {
		if wanted[group] {
			continue
		}
		if err := g.change(fd, unix.IPV6_LEAVE_GROUP, group); err != nil {
			return err
		}
		delete(g.joined, group)
	}
	for group := range wanted {
		if _, member := g.joined[group]; member {
			continue
		}
		if err := g.join(group); err != nil {
			return err
		}
	}
	return nil
}

func (g *groups) join(group netip.Addr) error {
	if n := len(g.sockets); n > 0 {
		fd := g.sockets[n-1]
		err := g.change(fd, unix.IPV6_JOIN_GROUP, group)
		if err == nil {
			g.joined[group] = fd
			return nil
		}
		if !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.ENOMEM) {
			return err
		}
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open socket to join multicast groups: %w", err)
	}
	g.sockets = append(g.sockets, fd)
	if err := g.change(fd, unix.IPV6_JOIN_GROUP, group); err != nil {
		return err
	}
	g.joined[group] = fd
	return nil
}

func (g *groups) change(fd, option int, group netip.Addr) error {
	err := unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, option, &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(g.ifindex)})
	if err != nil {
		return fmt.Errorf("membership in group %s on interface %d: %w", group, g.ifindex, err)
	}
	return nil
}

// close leaves all groups.
func (g *groups) close() {
	for _, fd := range g.sockets {
		unix.Close(fd) //nolint:gosec // nothing is buffered
	}
	g.sockets = nil
}
