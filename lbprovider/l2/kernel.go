package l2

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// ipvsInterface is where kube-proxy puts the addresses of all Services, on every
// node, if it works by IPVS.
const ipvsInterface = "kube-ipvs0"

// kernelAnswers says whether this node's kernel answers ARP requests for
// addresses that others own: kube-proxy's IPVS mode has put them on every node,
// and arp_ignore lets the kernel answer for them on every interface.
func kernelAnswers(usable []link) (bool, error) {
	if _, err := netlink.LinkByName(ipvsInterface); err != nil {
		return false, nil //nolint:nilerr // that it is not there is the usual case
	}
	all, err := arpIgnore("all")
	if err != nil {
		return false, err
	}
	for _, l := range usable {
		own, err := arpIgnore(l.name)
		if err != nil {
			return false, err
		}
		if max(all, own) == 0 { // by which the kernel goes
			return true, nil
		}
	}
	return false, nil
}

func arpIgnore(name string) (int, error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/arp_ignore")
	if err != nil {
		return 0, fmt.Errorf("read how the kernel answers ARP: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read how the kernel answers ARP: %w", err)
	}
	return n, nil
}

// checkKernel reports a kernel that gets in the way.
func (s *state) checkKernel(usable []link) {
	now, err := kernelAnswers(usable)
	if err != nil {
		s.log.Debug("kernel", "err", err)
		return
	}
	s.opts.Metrics.kernelAnswers(now)
	if now && !s.kernel {
		s.log.Error("kube-proxy works by IPVS and lets every node answer ARP for every address: set strictARP: true in its configuration")
	}
	s.kernel = now
}
