package lb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/install"
)

// speakerOn returns the name of the speaker's pod on the node.
func speakerOn(t *testing.T, p *install.Product, node string) string {
	t.Helper()
	return kubectl(t, p, "-n", "metallb-system", "get", "pods", "-l", "app.kubernetes.io/component=speaker",
		"--field-selector", "spec.nodeName="+node, "-o", "jsonpath={.items[0].metadata.name}")
}

// answers are the hardware addresses that answer for the address, asked from
// the host, which must be on the LAN.
func answers(t *testing.T, p *install.Product, host, device, address string) []string {
	t.Helper()
	// arping fails if no host answers.
	out, _ := p.Cluster.Exec(t.Context(), host, "arping", "-r", "-c", "1", "-w", "1", "-i", device, address)
	cards := strings.Fields(out) // of answers to a monitor as well
	slices.Sort(cards)
	return slices.Compact(cards)
}

// several are addresses of Services on the pods of the echo, so that there is
// more than one to lose or to double.
func several(t *testing.T, p *install.Product) (all []string) {
	t.Helper()
	for i := range 5 {
		name := fmt.Sprintf("more-%d", i)
		leave(t, p, serviceYAML(name, "echo-cluster", "Cluster"))
		all = append(all, addressOf(t, p, name))
	}
	for _, address := range all {
		awaitOwner(t, p, address, firstFor(t, address, p.Cluster.Nodes()))
	}
	return all
}

// oneEach checks that exactly one node answers for each address.
func oneEach(t *testing.T, p *install.Product, addresses []string) {
	t.Helper()
	for _, address := range addresses {
		eventually(t, func() error {
			if got := answers(t, p, "client", "eth0", address); len(got) != 1 {
				return fmt.Errorf("%s is answered by %v, want one node", address, got)
			}
			return nil
		})
	}
}

// statusOf waits until exactly one status object names an owner of the Service: the node.
func statusOf(t *testing.T, p *install.Product, service, node string) {
	t.Helper()
	eventually(t, func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "metallb-system", "get", "servicel2statuses", "-l", "metallb.io/service-name="+service,
			"-o", "jsonpath={.items[*].status.node}")
		if err == nil && out != node {
			err = fmt.Errorf("the status of %s names %q, want %q", service, out, node)
		}
		return err
	})
}

// TestKillSpeaker kills the speaker of the owner. It comes back, or another
// takes over; the packets flow meanwhile.
func TestKillSpeaker(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Cluster")
	statusOf(t, p, "echo-cluster", owner)
	w := watch(t, p, address)
	if err := p.Cluster.KillContainer(t.Context(), "metallb-system", speakerOn(t, p, owner), "speaker", ""); err != nil {
		t.Fatal(err)
	}
	observe(t, 3*time.Second)
	settled(t, p)
	awaitOwner(t, p, address, owner)
	statusOf(t, p, "echo-cluster", owner)
	check(t, p, w, limits{silence: crashSilence, crash: true, double: handoverTime})
}

// TestStopNode cuts the power of the owner and switches it on again.
func TestStopNode(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Local")
	apply(t, p, serviceYAML("echo-cluster-2", "echo-local", "Cluster"))
	w := watch(t, p, address)
	if err := p.Cluster.StopNode(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	next := awaitOwner(t, p, address, "!"+owner)
	statusOf(t, p, "echo-local", next)
	observe(t, 2*time.Second)
	check(t, p, w, limits{silence: crashSilence, crash: true, double: handoverTime})
	back := watch(t, p, address)
	if err := p.Cluster.StartNode(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	settled(t, p)
	awaitOwner(t, p, address, owner)
	statusOf(t, p, "echo-local", owner)
	check(t, p, back, limits{silence: plannedSilence, moves: 1, double: handoverTime})
}

// TestCutFromLAN takes the owner off the LAN but leaves it the API server: the
// bridge still passes what goes to the control plane. Others take over, and the
// owner learns from the API server that they did.
func TestCutFromLAN(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Cluster")
	more := several(t, p)
	w := watch(t, p, address, more...)
	cutLAN(t, p, owner)
	next := awaitOwner(t, p, address, "!"+owner)
	statusOf(t, p, "echo-cluster", next)
	check(t, p, w, limits{silence: crashSilence, crash: true, double: handoverTime})
	// The control plane still hears the cut node: it must have fallen silent.
	for _, a := range append([]string{address}, more...) {
		eventually(t, func() error {
			if got := answers(t, p, "cp", "lan", a); len(got) != 1 {
				return fmt.Errorf("%s is answered by %v, want one node", a, got)
			}
			return nil
		})
	}
	if _, err := p.Cluster.Exec(t.Context(), "cp", "nft", "delete", "table", "bridge", "cut"); err != nil {
		t.Fatal(err)
	}
	back := watch(t, p, address, more...) // before, packets for pods on the cut node are lost
	awaitOwner(t, p, address, owner)
	observe(t, 2*time.Second)
	oneEach(t, p, more)
	check(t, p, back, limits{silence: plannedSilence, moves: 1, double: handoverTime})
	settled(t, p)
}

// TestCutFromAPI takes the API server from the owner but leaves it the LAN.
// It no longer hears what changes, so the others take over.
func TestCutFromAPI(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Cluster")
	more := several(t, p)
	w := watch(t, p, address, more...)
	cutAPI(t, p, owner)
	awaitOwner(t, p, address, "!"+owner)
	observe(t, 3*time.Second)
	oneEach(t, p, append([]string{address}, more...))
	check(t, p, w, limits{silence: plannedSilence, moves: 1, double: handoverTime})
	back := watch(t, p, address, more...)
	if _, err := p.Cluster.Exec(t.Context(), owner, "nft", "delete", "table", "inet", "cut"); err != nil {
		t.Fatal(err)
	}
	awaitOwner(t, p, address, owner)
	observe(t, 2*time.Second)
	oneEach(t, p, append([]string{address}, more...))
	check(t, p, back, limits{silence: plannedSilence, moves: 1, double: handoverTime})
	settled(t, p)
}

// TestIsolated takes the owner off the LAN and from the API server at once. Only the host
// of the control plane, which has the bridge, still hears its ARP answers: they must
// end, though no program can tell the node that others have taken over.
func TestIsolated(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Cluster")
	card := answers(t, p, "cp", "lan", address)
	if len(card) != 1 {
		t.Fatalf("%s is answered by %v, want one node", address, card)
	}
	cutLAN(t, p, owner)
	cutAPI(t, p, owner)
	cut, last := time.Now(), time.Duration(0)
	for time.Since(cut) < 2*isolatedAfter {
		asked := time.Since(cut)
		if slices.Contains(answers(t, p, "cp", "lan", address), card[0]) {
			last = asked
		}
	}
	t.Logf("the isolated node answered for %v", last.Round(100*time.Millisecond))
	if last > isolatedAfter+time.Second {
		t.Errorf("the isolated node answered for %v, docs/lb/l2.md says %v", last, isolatedAfter)
	}
	awaitOwner(t, p, address, "!"+owner)
	for _, host := range []struct{ name, family string }{{"cp", "bridge"}, {owner, "inet"}} {
		if _, err := p.Cluster.Exec(t.Context(), host.name, "nft", "delete", "table", host.family, "cut"); err != nil {
			t.Fatal(err)
		}
	}
	awaitOwner(t, p, address, owner)
	settled(t, p)
}

// isolatedAfter is how long a node answers that reaches neither the API server nor half
// of the others.
const isolatedAfter = 5 * time.Second

// TestAPIServerAway kills the API server: nothing moves.
func TestAPIServerAway(t *testing.T) {
	p := installed(t)
	away := full.Or(time.Minute, 15*time.Second)
	address, owner := echo(t, p, "Cluster")
	more := several(t, p)
	w := watch(t, p, address, more...)
	if err := p.Cluster.KillAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	observe(t, away)
	if err := p.Cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	observe(t, 15*time.Second) // the speakers believe it again after 10 s
	r := check(t, p, w, limits{silence: plannedSilence})
	for _, a := range append([]string{address}, more...) {
		cards := map[string]bool{}
		for _, c := range r.Claims {
			if c.Address == a {
				cards[c.MAC] = true
			}
		}
		if len(cards) != 1 {
			t.Errorf("%s moved although only the API server was away: answered by %v", a, cards)
		}
	}
	awaitOwner(t, p, address, owner)
	settled(t, p)
}

// TestPoolEdits renames, splits and grows the pool of an address that is used.
func TestPoolEdits(t *testing.T) {
	p := installed(t)
	address, _ := echo(t, p, "Cluster")
	w := watch(t, p, address)
	first, last, _ := strings.Cut(p.Cluster.AddressRange(), "-")
	network := first[:strings.LastIndexByte(first, '.')]
	original := kubectl(t, p, "-n", "metallb-system", "get", "ipaddresspools", "-o", "jsonpath={.items[0].metadata.name}")
	edit := func(ranges ...string) {
		t.Helper()
		kubectl(t, p, "-n", "metallb-system", "patch", "ipaddresspool", original, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"addresses":["%s"]}}`, strings.Join(ranges, `","`)))
		observe(t, 2*time.Second)
	}
	t.Cleanup(func() {
		_, _ = p.Cluster.Kubectl(context.WithoutCancel(t.Context()), "-n", "metallb-system", "patch", "ipaddresspool", original, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"addresses":["%s-%s"]}}`, first, last))
	})
	edit(first+"-"+network+".220", network+".221-"+last)
	edit(first+"-"+last, network+".160/30")
	edit(first + "-" + network + ".230")
	edit(first + "-" + last)
	if now := addressOf(t, p, "echo-cluster"); now != address {
		t.Errorf("the address changed from %s to %s", address, now)
	}
	check(t, p, w, limits{silence: plannedSilence})
}

// TestKeyRotation gives the speakers another key. They never lose each other.
func TestKeyRotation(t *testing.T) {
	p := installed(t)
	long(t)
	address, owner := echo(t, p, "Cluster")
	w := watch(t, p, address)
	kubectl(t, p, "-n", "metallb-system", "patch", "secret", "memberlist", "--type=merge", "-p", fmt.Sprintf(`{"stringData":{"secretkey":"another key, made at %d"}}`, time.Now().UnixNano()))
	observe(t, 50*time.Second) // 15 s until it is used, 30 s more until the old one is refused
	check(t, p, w, limits{silence: plannedSilence})
	if now := ownerOf(t, p, address); now != owner {
		t.Errorf("the address moved from %s to %s", owner, now)
	}
	out := kubectl(t, p, "-n", "metallb-system", "logs", "-l", "app.kubernetes.io/component=speaker", "--tail=-1", "--since=60s")
	if n := strings.Count(out, "the old secret of the speakers is retired"); n != len(p.Cluster.Nodes()) {
		t.Errorf("%d of %d speakers retired the old key", n, len(p.Cluster.Nodes()))
	}
	// A speaker that starts now has the new key only, and meets the others.
	kubectl(t, p, "-n", "metallb-system", "delete", "pod", speakerOn(t, p, owner))
	settled(t, p)
	awaitOwner(t, p, address, owner)
}

// cutLAN takes a node off the LAN: the bridge passes what goes to the control plane, and
// no more.
func cutLAN(t *testing.T, p *install.Product, node string) {
	t.Helper()
	nft(t, p, "cp", "add table bridge cut", "delete table bridge cut")
	nft(t, p, "cp", "add chain bridge cut forward { type filter hook forward priority 0 ; }", "")
	for _, side := range []string{"iifname", "oifname"} {
		nft(t, p, "cp", fmt.Sprintf("add rule bridge cut forward %s v-%s drop", side, node), "")
	}
}

// cutAPI takes the API server from a node.
func cutAPI(t *testing.T, p *install.Product, node string) {
	t.Helper()
	nft(t, p, node, "add table inet cut", "delete table inet cut")
	for _, hook := range []string{"output", "forward"} {
		nft(t, p, node, fmt.Sprintf("add chain inet cut %[1]s { type filter hook %[1]s priority 0 ; }", hook), "")
		nft(t, p, node, fmt.Sprintf("add rule inet cut %s ip daddr %s tcp dport 6443 drop", hook, p.Cluster.Address("cp")), "")
	}
}

// nft runs a line on a host, and undo when the test ends.
func nft(t *testing.T, p *install.Product, host, line, undo string) {
	t.Helper()
	if out, err := p.Cluster.Exec(t.Context(), host, append([]string{"nft"}, strings.Fields(line)...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if undo != "" {
		t.Cleanup(func() { // it may be undone already
			_, _ = p.Cluster.Exec(context.WithoutCancel(t.Context()), host, append([]string{"nft"}, strings.Fields(undo)...)...)
		})
	}
}
