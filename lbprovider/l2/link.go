package l2

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
)

// rescan is how often the interfaces are read although no change was told.
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
}

// links lists the usable interfaces, by name.
func links(excluded []*regexp.Regexp) ([]link, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	vrf := map[int]bool{}
	for _, l := range all {
		vrf[l.Attrs().Index] = l.Type() == "vrf"
	}
	var out []link
	for _, l := range all {
		a := l.Attrs()
		matches := func(re *regexp.Regexp) bool { return re.MatchString(a.Name) }
		switch {
		case slices.ContainsFunc(excluded, matches),
			len(a.HardwareAddr) != hwLen,
			a.RawFlags&flagUp == 0, a.RawFlags&flagRunning == 0, // no cable: nobody would hear us
			a.RawFlags&flagNoARP != 0, a.RawFlags&flagBroadcast == 0,
			// A port of a bridge or bond sees the frames of its master, which is
			// the one to use. A member of a VRF stands for itself.
			a.MasterIndex != 0 && !vrf[a.MasterIndex]:
			continue
		}
		out = append(out, link{name: a.Name, index: a.Index, mac: mac(a.HardwareAddr)})
	}
	slices.SortFunc(out, func(a, b link) int { return a.index - b.index })
	return out, nil
}

// Interface flags, as in linux/if.h.
const (
	flagUp        = 0x1
	flagBroadcast = 0x2
	flagRunning   = 0x40
	flagNoARP     = 0x80
)

// watchLinks sends on changed whenever an interface may have changed, until ctx ends.
func watchLinks(ctx context.Context, log *slog.Logger, changed chan<- struct{}) {
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for ctx.Err() == nil {
		updates := make(chan netlink.LinkUpdate, 64)
		done := make(chan struct{})
		err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{
			ErrorCallback: func(err error) { log.Debug("interface updates", "error", err) },
		})
		if err != nil {
			log.Error("subscribe to interface updates", "error", err)
		}
		poke()
		forward(ctx, updates, poke)
		close(done)
	}
}

// forward pokes for each update and every now and then. It returns when the
// subscription broke or ctx ended.
func forward(ctx context.Context, updates <-chan netlink.LinkUpdate, poke func()) {
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-updates:
			if !open {
				return
			}
			poke()
		case <-tick.C:
			poke()
			return // and subscribe anew: cheap, and cures a silent subscription
		}
	}
}
