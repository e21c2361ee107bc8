package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const netnsFolder = "/run/netns"

// createHost makes the network namespace of a host and joins it to the LAN.
func (c *Cluster) createHost(ctx context.Context, host string) error {
	ns := c.layout.netns(host)
	if err := c.deleteNetns(ctx, host); err != nil {
		return err
	}
	if err := command(ctx, "ip", "netns", "add", ns); err != nil {
		return err
	}
	address := c.layout.address(host).String() + "/24"
	lines := []string{"link set lo up"}
	if host == controlPlane {
		lines = append(lines, "link add lan type bridge forward_delay 0 stp_state 0", "addr add "+address+" dev lan", "link set lan up")
		for _, node := range c.layout.nodes() {
			lines = append(lines, c.podRoute(node))
		}
	} else {
		cp := []string{
			"link add " + port(host) + " type veth peer name eth0 netns " + ns,
			"link set " + port(host) + " master lan up",
		}
		if err := ipBatch(ctx, c.layout.netns(controlPlane), cp); err != nil {
			return err
		}
		lines = append(lines, "addr add "+address+" dev eth0", "link set eth0 up",
			"route add default via "+c.layout.address(controlPlane).String())
	}
	for _, node := range c.layout.nodes() {
		if c.layout.number(host) > 0 && node != host {
			lines = append(lines, c.podRoute(node))
		}
	}
	if err := ipBatch(ctx, ns, append(lines, c.layout.network6(host)...)); err != nil {
		return err
	}
	return c.sysctl(ctx, host)
}

func (c *Cluster) podRoute(node string) string {
	return "route replace " + c.layout.podRange(node) + " via " + c.layout.address(node).String()
}

// sysctl turns on forwarding; the shell sees /proc/sys of the namespace that it was started in.
// A connection that was tried before kube-proxy had rules for its address is not translated for as long as the kernel remembers it:
// two to five minutes by default, in which a client with a hundred connections a second comes to the same ports. So it is with one that was
// open when its address moved, after the pod that it went to has ended (docs/lb/l2.md).
func (c *Cluster) sysctl(ctx context.Context, host string) error {
	script := "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter"
	script += "; for s in syn_sent fin_wait last_ack unacknowledged max_retrans; do f=/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_$s; [ ! -e $f ] || echo 5 >$f; done"
	script += c.layout.forward6()
	return command(ctx, "nsenter", "--net="+filepath.Join(netnsFolder, c.layout.netns(host)), "sh", "-c", script)
}

// port is the control plane's end of a host's cable.
func port(host string) string { return "v-" + host }

func (c *Cluster) setLink(ctx context.Context, host, state string) error {
	if host == controlPlane || !slices.Contains(c.layout.hosts(), host) {
		return fmt.Errorf("set the link of %q %s: hosts with a cable are %s", host, state, strings.Join(c.layout.hosts()[1:], " "))
	}
	return command(ctx, "ip", "-n", c.layout.netns(controlPlane), "link", "set", port(host), state)
}

// deleteNetns removes the host's namespace by name; with it go its cable and its rules.
func (c *Cluster) deleteNetns(ctx context.Context, host string) error {
	ns := c.layout.netns(host)
	if _, err := os.Stat(filepath.Join(netnsFolder, ns)); err != nil {
		return nil // not there
	}
	return command(ctx, "ip", "netns", "del", ns)
}

// ipBatch runs the lines as ip commands inside the namespace.
func ipBatch(ctx context.Context, ns string, lines []string) error {
	cmd := exec.CommandContext(ctx, "ip", "-n", ns, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("set up the network of %s: %w: %s", ns, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func command(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Dial returns a dial function whose connections come from the host, for http.Transport and rest.Config. Addresses must
// be literal: a name would be resolved outside the host.
func (c *Cluster) Dial(host string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		type result struct {
			conn net.Conn
			err  error
		}
		done := make(chan result, 1)
		go func() {
			// The thread is not given back (no UnlockOSThread): the runtime ends it with the goroutine, namespace and all.
			runtime.LockOSThread()
			var r result
			if r.err = enterNetns(c.layout.netns(host)); r.err == nil {
				r.conn, r.err = (&net.Dialer{}).DialContext(ctx, network, address)
			}
			done <- r
		}()
		r := <-done
		if r.err != nil {
			return nil, fmt.Errorf("dial %s from %s: %w", address, host, r.err)
		}
		return r.conn, nil
	}
}

// Neighbour returns the hardware address that the host has in its ARP table for an IPv4 address, or "" for none. It starts
// no program, so it may be asked while one measures.
func (c *Cluster) Neighbour(host, address string) (card string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // as in Dial
		var table []byte
		if err = enterNetns(c.layout.netns(host)); err == nil {
			table, err = os.ReadFile("/proc/thread-self/net/arp")
		}
		for line := range strings.Lines(string(table)) {
			// The flag 0x2 is that of a complete entry.
			if f := strings.Fields(line); len(f) > 3 && f[0] == address && f[2] != "0x0" {
				card = f[3]
			}
		}
	}()
	<-done
	if err != nil {
		return "", fmt.Errorf("read the ARP table of %s: %w", host, err)
	}
	return card, nil
}

func enterNetns(ns string) error {
	file, err := os.Open(filepath.Join(netnsFolder, ns))
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}
