package cluster

import (
	"fmt"
	"net/netip"
	"regexp"
)

// maxNodes keeps node addresses clear of the client's.
const maxNodes = 40

// maxSlots is how many clusters fit side by side into 198.18.0.0/15, the range set aside for benchmarks.
const maxSlots = 512

var validName = regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`)

// layout computes names and addresses of a cluster. Clusters differ in name and slot; a slot is a /24 of 198.18.0.0/15.
type layout struct {
	Name  string `json:"name"`
	Slot  int    `json:"slot"`
	Nodes int    `json:"nodes"`
	// DualStack says that hosts, pods and Services have IPv6 addresses too.
	DualStack bool `json:"dualStack,omitempty"`
}

func (l layout) validate() error {
	if !validName.MatchString(l.Name) {
		return fmt.Errorf("cluster name %q: up to 12 lower-case letters and digits, a letter first", l.Name)
	}
	if l.Nodes < 1 || l.Nodes > maxNodes {
		return fmt.Errorf("%d nodes: from 1 to %d are possible", l.Nodes, maxNodes)
	}
	return nil
}

func (l layout) lan(last byte) netip.Addr {
	return netip.AddrFrom4([4]byte{198, byte(18 + l.Slot/256), byte(l.Slot % 256), last})
}

// address returns the LAN address of a host.
func (l layout) address(host string) netip.Addr {
	switch host {
	case controlPlane:
		return l.lan(1)
	case "client":
		return l.lan(100)
	case "tor":
		return l.lan(101)
	default:
		return l.lan(byte(10 + l.number(host)))
	}
}

// firstFree and lastFree are the last bytes of what load balancers may use: on the LAN, and not used by hosts.
const firstFree, lastFree = 200, 250

func (l layout) addressRange() string { return fmt.Sprintf("%s-%s", l.lan(firstFree), l.lan(lastFree)) }

func (l layout) netns(host string) string  { return l.Name + "-" + host }
func (l layout) cgroup(host string) string { return l.Name + "-" + host }

// number returns N of node nN, and 0 for other hosts.
func (l layout) number(host string) int {
	for n := 1; n <= l.Nodes; n++ {
		if host == nodeName(n) {
			return n
		}
	}
	return 0
}

func nodeName(n int) string { return fmt.Sprintf("n%d", n) }

func (l layout) nodes() []string {
	names := make([]string, 0, l.Nodes)
	for n := 1; n <= l.Nodes; n++ {
		names = append(names, nodeName(n))
	}
	return names
}

// hosts lists all hosts, the control plane first because its bridge is the LAN.
func (l layout) hosts() []string {
	return append(append([]string{controlPlane}, l.nodes()...), "client", "tor")
}

func (l layout) podRange(node string) string { return fmt.Sprintf("10.244.%d.0/24", l.number(node)) }

func (l layout) server() string { return fmt.Sprintf("https://%s:6443", l.address(controlPlane)) }
