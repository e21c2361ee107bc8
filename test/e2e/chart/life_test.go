package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/full"
)

// TestHelm4 upgrades under load, which takes most of a minute; the long form takes the chart through all of its life. What is left after
// uninstalling is tested in config/generate/chart, too.
func TestHelm4(t *testing.T) {
	b := newBed(t, "helm4")
	address := b.installed()
	b.tested()
	b.upgraded(address)
	b.refused(address)
	if full.Wanted() {
		b.rolledBack(address)
		b.uninstalled(address)
		b.removed()
	}
	b.console(address)
}

// TestHelm3 does the same with Helm 3, and hands the release over to Helm 4 on the way.
func TestHelm3(t *testing.T) {
	full.Only(t, "TestHelm4 does the same")
	b := newBed(t, "helm")
	b.fresh()
	address := b.installed()
	b.tested()
	b.upgraded(address)
	b.refused(address)
	b.rolledBack(address)
	b.uninstalled(address)
	next := newBed(t, "helm4")
	next.upgraded(address)
	next.rolledBack(address)
	next.removed()
}

// installed installs the first version, unless TestWalk has done it, with a Route that is served, and returns the router's address.
func (b *bed) installed() (address string) {
	b.t.Helper()
	if !b.there() {
		b.do("Install", nil)
	}
	b.apply(objects)
	b.complete(first)
	b.kubectl("-n", "default", "rollout", "status", "deployment/app", "--timeout=60s")
	address = b.address()
	b.served(address)
	return address
}

// tested runs the test of the chart, whose pod asks the routers for the canary. A pod that has succeeded is removed.
func (b *bed) tested() {
	b.t.Helper()
	out, err := b.run("test", "fairlead", "-n", "fairlead", "--timeout", "4m")
	if err != nil || !strings.Contains(out, "fairlead-test") || !strings.Contains(out, "Succeeded") {
		said, _ := shared.Kubectl(b.t.Context(), "-n", "openshift-ingress", "logs", "fairlead-test") // the pod may be gone
		b.t.Fatalf("the test of the chart: %v: %s\n%s", err, out, said)
	}
	if left := b.kubectl("-n", "openshift-ingress", "get", "pod", "fairlead-test", "--ignore-not-found", "-o", "name"); left != "" {
		b.t.Errorf("%s is left after a test that has succeeded", left)
	}
}

// upgraded goes to the next version with other values, so that all pods are replaced.
func (b *bed) upgraded(address string) {
	b.t.Helper()
	l := startLoad(b.t, address)
	b.do("Upgrade", map[string]string{"helm upgrade": "--set canary.interval=30s,networkPolicies.enabled=false"})
	b.complete(second)
	observe(b.t, 2*time.Second)
	l.none(b.t, "upgrade")
}

func (b *bed) rolledBack(address string) {
	b.t.Helper()
	l := startLoad(b.t, address)
	b.do("Go back a version", nil)
	b.complete(first)
	observe(b.t, 2*time.Second)
	l.none(b.t, "rollback")
}

// refused upgrades with values that the schema does not allow.
func (b *bed) refused(address string) {
	b.t.Helper()
	state := func() string {
		return b.kubectl("get", "deployments,daemonsets", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{"\n"}{end}`)
	}
	file := filepath.Join(b.dir, "refused.yaml")
	if err := os.WriteFile(file, []byte("operator: {replicas: none}\ndomian: apps.example.com\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	before := state()
	l := startLoad(b.t, address)
	out, err := b.run("upgrade", "fairlead", "fairlead-0.2.0.tgz", "--namespace", "fairlead", "--values", file)
	if err == nil || !strings.Contains(out, "domian") || !strings.Contains(out, "replicas") {
		b.t.Errorf("values that the schema refuses: %v: %s", err, out)
	}
	observe(b.t, 2*time.Second)
	l.none(b.t, "a refused upgrade")
	if after := state(); after != before {
		b.t.Errorf("a refused upgrade changed something:\n%s\n%s", before, after)
	}
}

// uninstalled uninstalls while there are IngressControllers, which the page advises against, and installs again: what users wrote and
// what the operator made is taken over.
func (b *bed) uninstalled(address string) {
	b.t.Helper()
	manifest := b.manifest()
	if out, err := b.run("uninstall", "fairlead", "-n", "fairlead"); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	b.gone(manifest)
	b.kept()
	b.unreachable(address)
	b.do("Install", nil)
	b.complete(first)
	if now := b.address(); now != address {
		b.t.Errorf("the address was %s and is %s", address, now)
	}
	b.served(address)
}

// removed uninstalls as the page says, the IngressControllers first, and comes back.
func (b *bed) removed() {
	b.t.Helper()
	manifest := b.manifest()
	b.do("Uninstall", nil)
	b.gone(manifest)
	b.kept()
	if left := b.kubectl("get", "deployments,services", "-n", "openshift-ingress", "-o", "name"); left != "" {
		b.t.Errorf("in openshift-ingress there is %s", left)
	}
	b.do("Come back", nil)
	b.complete(first)
	b.served(b.address())
}

// manifest is a file with what the release has installed.
func (b *bed) manifest() (file string) {
	b.t.Helper()
	text, err := b.run("get", "manifest", "fairlead", "-n", "fairlead")
	if err != nil {
		b.t.Fatalf("%v: %s", err, text)
	}
	file = filepath.Join(b.dir, "manifest.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

// gone waits for the operators to end, and looks whether anything of the chart is left but what it keeps.
func (b *bed) gone(manifest string) {
	b.t.Helper()
	b.until("the operators to end", func() error {
		left, err := shared.Kubectl(b.t.Context(), "get", "pods", "-n", "openshift-ingress-operator", "-o", "name")
		if err == nil && left != "" {
			err = fmt.Errorf("there is %s", left)
		}
		return err
	})
	for name := range strings.FieldsSeq(b.kubectl("get", "-f", manifest, "--ignore-not-found", "-o", "name")) {
		if !strings.HasPrefix(name, "customresourcedefinition.") && !strings.HasPrefix(name, "namespace/") {
			b.t.Errorf("%s is left, and no later release could take it over", name)
		}
	}
}

// kept looks for what users wrote.
func (b *bed) kept() {
	b.t.Helper()
	for _, o := range []string{"routes/app -n default", "ipaddresspools/office -n metallb-system", "l2advertisements/office -n metallb-system"} {
		b.kubectl(append([]string{"get", "-o", "name"}, strings.Fields(o)...)...)
	}
}

// unreachable says that a client that does not know the address yet finds no node that answers for it, although routers serve still.
func (b *bed) unreachable(address string) {
	b.t.Helper()
	b.until("no node answers for the address", func() error { // the last speaker says goodbye first
		// arping fails if no host answers, as it should be here.
		out, _ := shared.Exec(b.t.Context(), "client", "arping", "-r", "-c", "2", "-w", "1", "-i", "eth0", address)
		if strings.TrimSpace(out) != "" {
			return fmt.Errorf("%s still answers", out)
		}
		return nil
	})
	ip := b.kubectl("-n", "openshift-ingress", "get", "service", "router-internal-default", "-o", "jsonpath={.spec.clusterIP}")
	code, err := shared.Exec(b.t.Context(), shared.Nodes()[0], "curl", "-sS", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: "+routeHost, "http://"+ip+"/text")
	if err != nil || code != "200" {
		b.t.Errorf("the routers answer %s inside the cluster: %v", code, err)
	}
}
