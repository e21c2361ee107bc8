package bfd_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bfd"
)

// TestSpoofedPackets has a pod of the node, which may choose its address and TTL,
// pose as the router: the session stays Up, even if the pod knows all that only
// router and node know, and whatever rp_filter is.
func TestSpoofedPackets(t *testing.T) {
	p := newPath(t)
	const us, near = "198.18.80.1", "198.18.80.2"
	pod := p.prefix + "pod"
	p.run("ip", "netns", "add", pod)
	t.Cleanup(func() { p.run("ip", "netns", "del", pod) })
	// With an address on the node's side: without one, the kernel drops them by the
	// loose filter as well.
	p.run("ip", "-n", p.ns("us"), "link", "add", "pod0", "type", "veth", "peer", "name", "eth0", "netns", pod)
	p.run("ip", "-n", p.ns("us"), "link", "set", "pod0", "up")
	p.run("ip", "-n", p.ns("us"), "addr", "add", "198.18.82.1/24", "dev", "pod0")
	p.run("ip", "-n", pod, "link", "set", "eth0", "up")
	p.run("ip", "-n", pod, "addr", "add", near+"/32", "dev", "eth0")
	p.run("ip", "-n", pod, "route", "add", us, "dev", "eth0")

	h := start(t, p.ns("us"))
	f := startFRR(t, p.ns("near"), "bfd\n peer "+us+"\n  receive-interval 100\n  transmit-interval 100\n  detect-multiplier 20\n")
	h.add(order{Peer: netip.MustParseAddr(near), Profile: fast()})
	h.becomes(near, "up", isUp)
	ours := f.becomes(us, "up", func(p frrPeer) bool { return p.Status == "up" && p.RemoteID != 0 }).RemoteID
	h.changed()

	packet := func(state string, your uint32) string {
		return fmt.Sprintf("20%s0318000000ff%08x000f4240000f424000000000", state, your)
	}
	const down, adminDown = "40", "00"
	discarded := func(reason string) float64 {
		return h.status(near).Metrics["fairlead_lb_bfd_packets_discarded_total{"+reason+"}"]
	}
	for _, c := range []struct{ name, ns, filter, payload, reason string }{
		{"Down of the pod, which knows our discriminator", pod, "0", packet(down, ours), "interface"},
		{"Down of the pod, with a loose filter", pod, "2", packet(down, ours), "interface"},
		{"AdminDown of the pod", pod, "0", packet(adminDown, ours), "interface"},
		{"Down of the pod without a discriminator", pod, "0", packet(down, 0), "interface"},
		{"Down of a host on the router's network without a discriminator", p.ns("near"), "0", packet(down, 0), "no discriminator"},
		{"AdminDown of a host on the router's network without a discriminator", p.ns("near"), "0", packet(adminDown, 0), "no discriminator"},
	} {
		on(t, h, f, c.name, func(t *testing.T) {
			for _, device := range []string{"all", "pod0"} {
				p.run("ip", "netns", "exec", p.ns("us"), "sysctl", "-qw", "net.ipv4.conf."+device+".rp_filter="+c.filter)
			}
			before := discarded(c.reason)
			sendFrom(t, c.ns, near, us+":3784", "255", c.payload)
			eventually(t, func() string {
				if discarded(c.reason) <= before {
					return "the packet was not discarded: " + c.reason
				}
				return ""
			})
			h.quiet()
		})
	}
	on(t, h, f, "the kernel drops them with a strict filter", func(t *testing.T) {
		p.run("ip", "netns", "exec", p.ns("us"), "sysctl", "-qw", "net.ipv4.conf.pod0.rp_filter=1")
		before := discarded("interface")
		sendFrom(t, pod, near, us+":3784", "255", packet(down, ours))
		// A packet that is dropped leaves no trace but the kernel's counter.
		eventually(t, func() string {
			if n := dropped(t, p.ns("us")); n == 0 {
				return "the kernel counts no packet that its filter dropped"
			}
			return ""
		})
		if got := discarded("interface"); got != before {
			t.Errorf("%v packets arrived", got-before)
		}
		h.quiet()
	})
	on(t, h, f, "the router itself still may", func(*testing.T) {
		f.vtysh("configure", "bfd", "peer "+us, "shutdown")
		h.becomes(near, "down", func(st bfd.Status) bool { return st.State == bfd.Down })
	})
	on(t, h, f, "and come back", func(*testing.T) {
		f.vtysh("configure", "bfd", "peer "+us, "no shutdown")
		h.becomes(near, "up", isUp)
	})
}

// dropped is how many packets the filter of reverse paths dropped.
func dropped(t *testing.T, ns string) int {
	t.Helper()
	out, err := exec.Command("nsenter", "--net=/run/netns/"+ns, "cat", "/proc/self/net/netstat").Output()
	must(t, err)
	lines := strings.Split(string(out), "\n")
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	at := slices.Index(names, "IPReversePathFilter")
	if at < 0 {
		t.Fatalf("the kernel does not count: %v", names)
	}
	n, err := strconv.Atoi(values[at])
	must(t, err)
	return n
}
