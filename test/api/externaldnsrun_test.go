package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/externaldns"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/rfc2136"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/nameserver"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// externalDNSModule is where external-dns comes from. Later versions need a
// later Go.
const externalDNSModule = "sigs.k8s.io/external-dns@v0.18.0"

// installExternalDNSKind installs the kind DNSEndpoint as external-dns has it.
func installExternalDNSKind(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", externalDNSModule)
	cmd.Dir = t.TempDir() // outside of this module, which does not need it
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("the kind DNSEndpoint cannot be fetched: go mod download %s: %v", externalDNSModule, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	crd, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "standard", "dnsendpoints.externaldns.k8s.io.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(t, string(crd)); err != nil {
		t.Fatal(err)
	}
}

// TestExternalDNSRuns lets the real external-dns publish our DNSEndpoints on a
// real BIND, in a zone in which the operator of another cluster publishes, too.
func TestExternalDNSRuns(t *testing.T) {
	full.Only(t, "external-dns takes minutes to build; TestExternalDNS has what it reads")
	c := newClient(t)
	installExternalDNSKind(t)
	t.Cleanup(func() { // TestExternalDNS begins without the kind.
		if _, err := server.Kubectl(context.Background(), "delete", "crd", "dnsendpoints.externaldns.k8s.io", "--timeout=3m"); err != nil {
			t.Error(err)
		}
	})
	n := nameserver.Start(t)

	// Another cluster, which writes by itself.
	other, err := rfc2136.New(rfc2136.Options{Server: n.Address, Key: func() (*rfc2136.Key, error) {
		return &rfc2136.Key{Name: nameserver.Key + ".", Algorithm: mdns.HmacSHA256, Secret: nameserver.Secret}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	zone := hook.Zone{ID: "example.com.", Name: "example.com."}
	theirs := &hook.Record{Name: "*.theirs.example.com.", Type: hook.RecordA, Targets: []string{"198.18.0.9"}, TTL: 30, Owner: "fairlead-c2", Resource: "dnsrecord/ns/theirs"}
	if _, err := other.EnsureRecord(t.Context(), theirs, zone); err != nil {
		t.Fatal(err)
	}

	runExternalDNS(t, n)
	p := externaldns.New(c)
	r := &hook.Record{
		Name: "*.ours.example.com.", Type: hook.RecordA, Targets: []string{"198.18.0.1"}, TTL: 30,
		Owner: "fairlead-c1", Resource: "dnsrecord/" + names.OperatorNamespace + "/run-wildcard",
	}
	resolves := func(name string, kind uint16, want ...string) {
		t.Helper()
		eventually(t, func() error {
			got, err := n.Ask(name, kind)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%s is %v, want %v", name, got, want)
			}
			return err
		})
	}
	published := func() {
		t.Helper()
		eventually(t, func() error {
			got, err := p.EnsureRecord(t.Context(), r, zone)
			if err == nil && got.Pending {
				err = errors.New(got.Message)
			}
			return err
		})
	}
	published()
	resolves("shop.ours.example.com.", mdns.TypeA, "198.18.0.1")
	r.Type, r.Targets = hook.RecordCNAME, []string{"lb.example.net."}
	published()
	resolves("shop.ours.example.com.", mdns.TypeCNAME, "lb.example.net.")

	// What external-dns made is not ours to the operator of another cluster.
	taken := *theirs
	taken.Name = r.Name
	if _, err := other.EnsureRecord(t.Context(), &taken, zone); hook.ClassOf(err) != hook.ClassConflict || !strings.Contains(err.Error(), "owner=external") {
		t.Errorf("over external-dns's record: %v", err)
	}
	if err := p.DeleteRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	resolves("shop.ours.example.com.", mdns.TypeCNAME)
	n.Want(t, "shop.theirs.example.com.", mdns.TypeA, "198.18.0.9")
}

// runExternalDNS runs external-dns, and builds it before where need be.
func runExternalDNS(t *testing.T, n nameserver.Server) {
	t.Helper()
	program, err := toolset.Path("external-dns")
	if err != nil {
		dir, err := toolset.Dir()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", "-ldflags=-s -w", externalDNSModule)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+filepath.Join(dir, "bin"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build external-dns: %v: %s", err, out)
		}
		program = filepath.Join(dir, "bin", "external-dns")
	}
	host, port, err := net.SplitHostPort(n.Address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program,
		"--kubeconfig="+server.Kubeconfig(), "--source=crd", "--policy=sync", "--interval=1s", "--metrics-address=127.0.0.1:0",
		"--registry=txt", "--txt-owner-id=external", "--txt-wildcard-replacement=wild",
		"--provider=rfc2136", "--rfc2136-host="+host, "--rfc2136-port="+port, "--rfc2136-zone=example.com", "--rfc2136-min-ttl=1s",
		"--rfc2136-tsig-keyname="+nameserver.Key, "--rfc2136-tsig-secret="+nameserver.Secret, "--rfc2136-tsig-secret-alg=hmac-sha256", "--rfc2136-tsig-axfr",
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // By now the test's context has ended it.
		_ = cmd.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Log(string(text))
		}
	})
}
