package l2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// rescan is how often the interfaces are read although no change was reported.
const rescan = 30 * time.Second

// DefaultExcludedInterfaces are patterns of interfaces that lead to pods and
// virtual machines, not to the network segment.
func DefaultExcludedInterfaces() []string {
	return []string{
		`^docker.*`, `^cbr.*`, `^dummy.*`, `^virbr.*`, `^lxcbr.*`, `^veth.*`, `^lo$`, `^cali.*`, `^tunl.*`,
		`^flannel.*`, `^kube-ipvs.*`, `^cni.*`, `^nodelocaldns.*`, `^lxc.*`,
	}
}

// link is an interface on which addresses can be announced.
type link struct {
	name  string
	index int
	mac   mac
	// v6 says that the interface has an IPv6 address that can be used. Without
	// one the kernel takes no IPv6 packets from it, and could answer none.
	v6 bool
}

// links lists the usable interfaces, by index, and the hardware addresses of all.
func links(excluded []*regexp.Regexp) (usable []link, own map[mac]bool, err error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, nil, fmt.Errorf("list network interfaces: %w", err)
	}
	v6, err := withIPv6()
	if err != nil {
		return nil, nil, err
	}
	vrf := map[int]bool{}
	own = map[mac]bool{}
	for _, l := range all {
		vrf[l.Attrs().Index] = l.Type() == "vrf"
		if hw := l.Attrs().HardwareAddr; len(hw) == hwLen {
			own[mac(hw)] = true
		}
	}
	for _, l := range all {
		a := l.Attrs()
		matches := func(re *regexp.Regexp) bool { return re.MatchString(a.Name) }
		switch {
		case slices.ContainsFunc(excluded, matches),
			len(a.HardwareAddr) != hwLen,
			a.RawFlags&flagUp == 0, a.RawFlags&flagRunning == 0, // no cable: no frame would arrive
			a.RawFlags&flagNoARP != 0, a.RawFlags&flagBroadcast == 0,
			// A port of a bridge or bond sees the frames of its master, which is
			// the one to use. A member of a VRF stands for itself.
			a.MasterIndex != 0 && !vrf[a.MasterIndex]:
			continue
		}
		usable = append(usable, link{name: a.Name, index: a.Index, mac: mac(a.HardwareAddr), v6: v6[a.Index]})
	}
	slices.SortFunc(usable, func(a, b link) int { return a.index - b.index })
	return usable, own, nil
}

// withIPv6 returns the interfaces that have an IPv6 address which is neither
// being checked for duplicates nor known to be one.
func withIPv6() (map[int]bool, error) {
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V6)
	if err != nil {
		return nil, fmt.Errorf("list IPv6 addresses: %w", err)
	}
	found := map[int]bool{}
	for _, a := range addrs {
		if a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 {
			found[a.LinkIndex] = true
		}
	}
	return found, nil
}

// Interface flags, as in linux/if.h.
const (
	flagUp        = 0x1
	flagBroadcast = 0x2
	flagRunning   = 0x40
	flagNoARP     = 0x80
)

// watchLinks sends on changed whenever an interface or an address may have
// changed, until ctx ends.
func watchLinks(ctx context.Context, log *slog.Logger, changed chan<- struct{}) {
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	report := func(err error) { log.Debug("interface updates", "err", err) }
	for ctx.Err() == nil {
		links, addrs := make(chan netlink.LinkUpdate, 64), make(chan netlink.AddrUpdate, 64)
		done := make(chan struct{})
		err := errors.Join(
			netlink.LinkSubscribeWithOptions(links, done, netlink.LinkSubscribeOptions{ErrorCallback: report}),
			netlink.AddrSubscribeWithOptions(addrs, done, netlink.AddrSubscribeOptions{ErrorCallback: report}),
		)
		if err != nil {
			log.Error("subscribe to interface updates", "err", err)
		}
		poke()
		forward(ctx, links, addrs, poke)
		close(done)
	}
}

// forward pokes for each update and every now and then. It returns when a
// subscription broke or ctx ended, and after a while in any case: to subscribe
// again is cheap, and cures a silent subscription.
func forward(ctx context.Context, links <-chan netlink.LinkUpdate, addrs <-chan netlink.AddrUpdate, poke func()) {
	enough := time.NewTimer(rescan)
	defer enough.Stop()
	for open := true; open; poke() {
		select {
		case <-ctx.Done():
			return
		case _, open = <-links:
		case _, open = <-addrs:
		case <-enough.C:
			return
		}
	}
}
