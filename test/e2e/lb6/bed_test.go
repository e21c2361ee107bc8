package lb6

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bgprouter"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// root is the repository.
const root = "../../.."

const (
	// docsRange and bgpRange are addresses for Services in the documentation and
	// here: the last /24 that a test cluster may have, and so on no network of a host.
	docsRange = "192.168.77.0/24"
	bgpRange  = "198.19.255.0/24"
	bgpRange6 = "fd00:77::/64"
	// patience is how long things may take on a busy machine.
	patience = 60 * time.Second
)

// echo is the pods of all Services, one on each node.
const echo = `
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: demo}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: echo, image: "fairlead.dev/demo:dev", imagePullPolicy: IfNotPresent}
`

// service is another Service for them.
func service(name, metadata, spec string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata:
  name: %s
  namespace: demo
  %s
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
  %s
`, name, metadata, spec)
}

// bed is the cluster, and the router beside it.
type bed struct {
	*cluster.Cluster
	// t is the running test or step.
	t      *testing.T
	router *bgprouter.Router
	client *http.Client
}

func newBed(t *testing.T, c *cluster.Cluster) *bed {
	t.Helper()
	b := &bed{Cluster: c, t: t, client: &http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{DialContext: c.Dial("client"), DisableKeepAlives: true},
	}}
	b.kubectl("create", "namespace", "demo")
	return b
}

// step runs f as a subtest. Steps build on each other, so the first one that
// fails ends the test.
func (b *bed) step(t *testing.T, name string, f func()) {
	t.Helper()
	ok := t.Run(name, func(t *testing.T) {
		b.t = t
		f()
	})
	if b.t = t; !ok {
		t.FailNow()
	}
}

// page returns the examples of a page by language, with this cluster's addresses.
func (b *bed) page(path string) map[string][]string {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		b.t.Fatal(err)
	}
	lan, lan6 := strings.TrimSuffix(b.Address("tor"), ".101"), strings.TrimSuffix(b.Address6("tor"), "65")
	adapt := strings.NewReplacer(
		"192.168.10.200-192.168.10.250", b.AddressRange(), "fd00:10::c8-fd00:10::fa", b.AddressRange6(),
		"192.168.10.0/24", lan+".0/24", "fd00:10::/64", lan6+"/64",
		"192.168.10.1\n", b.Address("tor")+"\n", "fd00:10::1\n", b.Address6("tor")+"\n",
		docsRange, bgpRange,
		// A machine that is busy testing may well be silent for 300 ms.
		"Interval: 100", "Interval: 300", "-interval 100", "-interval 300")
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(yaml|frr)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = append(blocks[m[1]], adapt.Replace(m[2]))
	}
	if len(blocks["yaml"]) != 2 || len(blocks["frr"]) != 1 {
		b.t.Fatalf("%s has other examples than it had", path)
	}
	return blocks
}

func (b *bed) kubectl(args ...string) string {
	b.t.Helper()
	out, err := b.Kubectl(b.t.Context(), args...)
	if err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// apply applies manifests. They go with the cluster.
func (b *bed) apply(yaml string) {
	b.t.Helper()
	b.eventually(func() error {
		cmd := b.KubectlCommand(b.t.Context(), "apply", "-f", "-")
		cmd.Stdin = strings.NewReader(yaml)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// eventually polls until try succeeds, and ends the test when it does not.
func (b *bed) eventually(try func() error) {
	b.t.Helper()
	wait.Poll{Limit: patience, Every: wait.Slowly}.For(b.t, "the cluster", try)
}

// addressesOf waits until the Service has as many addresses as cluster IPs, and
// returns them.
func (b *bed) addressesOf(service string) (addrs []netip.Addr) {
	b.t.Helper()
	b.eventually(func() error {
		out, err := b.Kubectl(b.t.Context(), "-n", "demo", "get", "service", service,
			"-o", "jsonpath={.spec.clusterIPs[*]};{.status.loadBalancer.ingress[*].ip}")
		if err != nil {
			return err
		}
		cluster, given, _ := strings.Cut(out, ";")
		if len(strings.Fields(cluster)) != len(strings.Fields(given)) || given == "" {
			return fmt.Errorf("service %s has the cluster IPs %q and the addresses %q", service, cluster, given)
		}
		addrs = addrs[:0]
		for text := range strings.FieldsSeq(given) {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		return nil
	})
	return addrs
}

// ask sends a request from the client on a connection of its own, and returns
// which pod answered.
func (b *bed) ask(addr netip.Addr) (pod string, err error) {
	url := "http://" + netip.AddrPortFrom(addr, 80).String() + "/text"
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := b.client.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if fields := strings.Fields(string(text)); err == nil && len(fields) == 3 {
		return fields[2], nil
	}
	return "", fmt.Errorf("%s answers %q, %w", url, text, err)
}

// served waits until the address answers.
func (b *bed) served(addr netip.Addr) {
	b.t.Helper()
	b.eventually(func() error {
		_, err := b.ask(addr)
		return err
	})
}

// spread waits until connections to the address have met the pods of all nodes.
func (b *bed) spread(addr netip.Addr) {
	b.t.Helper()
	by := map[string]int{}
	b.eventually(func() error {
		for range 10 {
			pod, err := b.ask(addr)
			if err != nil {
				return err
			}
			by[pod]++
		}
		if len(by) != len(b.Nodes()) {
			return fmt.Errorf("requests to %s were answered by %v, want a pod of every node", addr, by)
		}
		return nil
	})
	b.t.Logf("requests to %s: %v", addr, by)
}

// host runs a program on this machine that must succeed.
func (b *bed) host(args ...string) {
	b.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// startRouter starts FRR on the host tor and makes it the client's way to the
// addresses that BGP announces.
func (b *bed) startRouter(config string) {
	netns := b.Name() + "-tor"
	// On one network with the client, the router would tell it a shorter way.
	b.host("nsenter", "--net=/run/netns/"+netns, "sh", "-c",
		"for i in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$i/send_redirects; done; "+
			"for i in 4 6; do echo 1 >/proc/sys/net/ipv$i/fib_multipath_hash_policy; done")
	dir, err := os.MkdirTemp("", "tor") // t.TempDir is too long for the path of a socket
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { os.RemoveAll(dir) })
	if b.router, err = bgprouter.FRR(b.t.Context(), netns, dir, config, b.t.Output()); err != nil {
		b.t.Fatal(err)
	}
	router := b.router
	b.t.Cleanup(func() {
		if err := router.Stop(); err != nil {
			b.t.Error(err)
		}
	})
	b.host("ip", "-n", b.Name()+"-client", "route", "replace", bgpRange, "via", b.Address("tor"))
	b.host("ip", "-n", b.Name()+"-client", "route", "replace", bgpRange6, "via", b.Address6("tor"))
}

// sessions waits until the sessions of all nodes are these, by peer.
func (b *bed) sessions(byPeer map[string]string) {
	b.t.Helper()
	var want []string
	for peer, state := range byPeer {
		for _, node := range b.Nodes() {
			want = append(want, node+"/"+peer+"="+state)
		}
	}
	slices.Sort(want)
	b.eventually(func() error {
		out, err := b.Kubectl(b.t.Context(), "-n", "metallb-system", "get", "bgpsessionstates",
			"-o", `jsonpath={range .items[*]}{.status.node}/{.status.peer}={.status.bgpStatus}/{.status.bfdStatus}{"\n"}{end}`)
		got := strings.Fields(out)
		slices.Sort(got)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("sessions are %v, want %v", got, want)
		}
		return err
	})
}

// paths waits until FRR has a path to the address from every node, by a session
// with the node's address that of tells.
func (b *bed) paths(addr netip.Addr, of func(node string) string) {
	b.t.Helper()
	var want []string
	for _, node := range b.Nodes() {
		want = append(want, of(node))
	}
	slices.Sort(want)
	family := map[bool]string{true: "ipv4", false: "ipv6"}[addr.Is4()]
	b.eventually(func() error {
		var table struct {
			Paths []struct {
				Peer struct {
					ID string `json:"peerId"`
				} `json:"peer"`
				Community struct {
					Text string `json:"string"`
				} `json:"community"`
			} `json:"paths"`
		}
		if err := b.json(&table, "show bgp "+family+" unicast "+netip.PrefixFrom(addr, addr.BitLen()).String()+" json"); err != nil {
			return err
		}
		var got []string
		for _, p := range table.Paths {
			got = append(got, p.Peer.ID)
			if p.Community.Text != "64512:100" {
				return fmt.Errorf("the path to %s from %s has the communities %q", addr, p.Peer.ID, p.Community.Text)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("FRR has paths to %s from %v, want %v", addr, got, want)
		}
		return nil
	})
}

func (b *bed) json(into any, command string) error {
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	return b.router.JSON(ctx, command, into)
}
