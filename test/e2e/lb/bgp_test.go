package lb

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bgprouter"
	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
)

const (
	// docsRange and bgpRange are the addresses for Services in docs/lb/bgp.md and
	// here: the last /24 that a test cluster may have, and so on no network of a host.
	docsRange = "192.168.77.0/24"
	bgpRange  = "198.19.255.0/24"
)

// torOf starts FRR on the host tor with the example of docs/lb/bgp.md, makes it
// the client's way to the addresses, and applies the example's manifests.
func torOf(t *testing.T, p *install.Product) *bgprouter.Router {
	t.Helper()
	if why := bgprouter.Missing(); why != "" {
		t.Skip(why)
	}
	text, err := os.ReadFile("../../../docs/lb/bgp.md")
	if err != nil {
		t.Fatal(err)
	}
	lan := strings.TrimSuffix(p.Cluster.Address("tor"), ".101")
	// A machine that is busy testing may well be silent for 300 ms.
	const documented = "100"
	interval := full.Or(documented, "300")
	adapt := strings.NewReplacer(
		"Interval: "+documented, "Interval: "+interval, "-interval "+documented, "-interval "+interval,
		docsRange, bgpRange, "192.168.10.1\n", lan+".101\n", "192.168.10.0/24", lan+".0/24")
	blocks := map[string]string{}
	for _, b := range regexp.MustCompile("(?ms)^```(yaml|frr)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[b[1]] = adapt.Replace(b[2])
	}
	// On one network with the client, the router would tell it a shorter way.
	netns := p.Cluster.Name() + "-tor"
	host(t, "nsenter", "--net=/run/netns/"+netns, "sh", "-c",
		"for i in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$i/send_redirects; done; echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy")
	dir, err := os.MkdirTemp("", "tor") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r, err := bgprouter.FRR(t.Context(), netns, dir, blocks["frr"], t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := []string{"ip", "-n", p.Cluster.Name() + "-client", "route"}
	host(t, append(client, "replace", bgpRange, "via", p.Cluster.Address("tor"))...)
	t.Cleanup(func() { host(t, append(client, "del", bgpRange)...) })
	apply(t, p, blocks["yaml"])
	return r
}

func host(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v: %s", args, err, out)
	}
}

// hops polls until the router's kernel sends packets for the address to exactly
// these nodes, and returns how long that took.
func hops(t *testing.T, p *install.Product, address string, nodes ...string) time.Duration {
	t.Helper()
	var want []string
	for _, n := range nodes {
		want = append(want, p.Cluster.Address(n))
	}
	slices.Sort(want)
	start := time.Now()
	eventually(t, func() error {
		got, err := bgprouter.NextHops(t.Context(), p.Cluster.Name()+"-tor", netip.MustParseAddr(address))
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s leads to %v, want %v", address, got, want)
		}
		return nil
	})
	return time.Since(start)
}

// servers asks the address on new connections and returns which pods answered how often.
func servers(t *testing.T, p *install.Product, address string, requests int) map[string]int {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	by := map[string]int{}
	for range requests {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/text", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 {
			t.Fatalf("answer %q, %v", text, err)
		}
		by[fields[2]]++
	}
	return by
}

// requests starts a monitor of requests only: no host answers ARP for an address
// that is announced by BGP.
func requests(t *testing.T, p *install.Product, address string) *netmonitor.Monitor {
	t.Helper()
	w, err := netmonitor.Start(t.Context(), p.Cluster, netmonitor.Options{Target: address + ":80", Path: "/text", Host: "echo", Hosts: p.Cluster.Hosts()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.Stop() })
	observe(t, time.Second)
	return w
}

// TestBGP walks the example of the documentation: sessions, traffic over all
// nodes, maintenance, an update of the speakers, and the loss of a node.
func TestBGP(t *testing.T) {
	p := installed(t)
	frr := torOf(t, p)
	yaml := strings.Replace(echoYAML("routed", "Local"), "metadata: {name: routed, namespace: default}\nspec:\n  type",
		`metadata: {name: routed, namespace: default, annotations: {metallb.io/address-pool: public}}`+"\nspec:\n  type", 1)
	apply(t, p, yaml)
	kubectl(t, p, "-n", "default", "rollout", "status", "daemonset/routed", "--timeout=180s")
	address := addressOf(t, p, "routed")
	nodes := p.Cluster.Nodes()
	hops(t, p, address, nodes...)

	t.Run("what the router was told", func(t *testing.T) {
		out, err := frr.Command(t.Context(), "show bgp ipv4 unicast "+address+"/32")
		if err != nil || strings.Count(out, "Community: 64512:100") != len(nodes) {
			t.Errorf("%v:\n%s", err, out)
		}
	})
	t.Run("every node gets traffic", func(t *testing.T) {
		by := servers(t, p, address, 60)
		t.Logf("60 requests: %v", by)
		if len(by) != len(nodes) {
			t.Errorf("%d nodes of %d served: %v", len(by), len(nodes), slices.Sorted(maps.Keys(by)))
		}
	})
	t.Run("sessions are shown", func(t *testing.T) { shown(t, p, nodes) })
	t.Run("maintenance", func(t *testing.T) {
		w := requests(t, p, address)
		kubectl(t, p, "annotate", "node", nodes[1], "lb.fairlead.dev/drain=new memory")
		t.Cleanup(func() {
			_, _ = p.Cluster.Kubectl(context.WithoutCancel(t.Context()), "annotate", "node", nodes[1], "lb.fairlead.dev/drain-")
		})
		hops(t, p, address, without(nodes, nodes[1])...)
		observe(t, time.Second)
		kubectl(t, p, "annotate", "node", nodes[1], "lb.fairlead.dev/drain-")
		hops(t, p, address, nodes...)
		observe(t, time.Second)
		check(t, p, w, limits{silence: plannedSilence})
	})
	t.Run("the speakers are replaced", func(t *testing.T) {
		w := requests(t, p, address)
		kubectl(t, p, "-n", "metallb-system", "rollout", "restart", "daemonset/speaker")
		kubectl(t, p, "-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=180s")
		observe(t, 3*time.Second)
		check(t, p, w, limits{silence: plannedSilence})
		hops(t, p, address, nodes...)
		shown(t, p, nodes)
	})
	t.Run("a node loses power", func(t *testing.T) {
		node := nodes[len(nodes)-1]
		w := requests(t, p, address)
		start := time.Now()
		if err := p.Cluster.StopNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		hops(t, p, address, without(nodes, node)...)
		t.Logf("the router forgot %s within %v", node, time.Since(start).Round(10*time.Millisecond))
		observe(t, time.Second)
		report := check(t, p, w, limits{silence: crashSilence, crash: true})
		if lost := report.Lost(); len(lost) > 0 {
			t.Logf("requests were lost for %v", lost[len(lost)-1].At.Sub(lost[0].At).Round(10*time.Millisecond))
		}
		if err := p.Cluster.StartNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		hops(t, p, address, nodes...)
		settled(t, p)
	})
}

// shown polls until every node's session is in its object, and the Service's peers.
func shown(t *testing.T, p *install.Product, nodes []string) {
	t.Helper()
	want := strings.Join(nodes, "=Established/Up ") + "=Established/Up"
	eventually(t, func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "metallb-system", "get", "bgpsessionstates", "-l", "metallb.io/peer=tor",
			"-o", `jsonpath={range .items[*]}{.status.node}={.status.bgpStatus}/{.status.bfdStatus}{"\n"}{end}`)
		if err != nil {
			return err
		}
		got := strings.Fields(out)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			return fmt.Errorf("sessions are %v, want %s", got, want)
		}
		out, err = p.Cluster.Kubectl(t.Context(), "-n", "metallb-system", "get", "servicebgpstatuses", "-l", "metallb.io/service-name=routed",
			"-o", `jsonpath={range .items[*]}{.status.node}={.status.peers[*]}{"\n"}{end}`)
		if got := strings.Fields(out); err != nil || len(got) != len(nodes) || !strings.HasSuffix(got[0], "=tor") {
			return fmt.Errorf("status of the Service is %v, %w", got, err)
		}
		return nil
	})
}

func without(nodes []string, node string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == node })
}
