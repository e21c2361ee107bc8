// Package nameserver runs real DNS servers, BIND and Knot, for tests of dynamic
// updates.
package nameserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/test/wait"
)

// Key and Secret (base64) are those of the key that may update zones; its
// algorithm is hmac-sha256.
const (
	Key    = "fairlead"
	Secret = "c2VjcmV0IG9mIGEgdGVzdCwgbm90aGluZyBlbHNl"
)

// Server is a DNS server that serves example.com and child.example.com, which the key
// "fairlead" may update, and fixed.example.com, which no key may.
type Server struct {
	// Address is host and port.
	Address string
}

// Start runs a BIND on the loopback until the test ends, or skips the test if
// there is none.
func Start(t *testing.T) Server {
	t.Helper()
	return start(t, "named", func(dir string, port int) []string {
		return bind(t, dir, port, configure(t, dir))
	})
}

// start runs a server until the test ends, with the arguments that are made for
// a folder and a port.
func start(t *testing.T, program string, arguments func(dir string, port int) []string) Server {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path = "/usr/sbin/" + program
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no %s (run \"make tools\")", program)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := Server{Address: l.Addr().String()}
	args := arguments(t.TempDir(), l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	wait.Poll{Limit: time.Minute}.For(t, "an answer of "+program, func() error { // a failed test logs its output
		found, err := n.Ask("ns.example.com.", mdns.TypeA)
		if err == nil && len(found) == 0 {
			err = errors.New("the answer is empty")
		}
		return err
	})
	return n
}

// StartWith runs a BIND with the statements that are returned for a folder, in
// which the file example.com has that zone.
func StartWith(t *testing.T, statements func(dir string) string) Server {
	t.Helper()
	return start(t, "named", func(dir string, port int) []string {
		zoneFile(t, dir, "example.com", "example.com")
		return bind(t, dir, port, statements(dir))
	})
}

// configure writes the zones and returns the statements about them.
func configure(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "key \"fairlead\" { algorithm hmac-sha256; secret %q; };\n", Secret)
	for zone, policy := range map[string]string{"example.com": `allow-update { key "fairlead"; };`, "child.example.com": `allow-update { key "fairlead"; };`, "fixed.example.com": ""} {
		fmt.Fprintf(&b, "zone %q { type primary; file %q; %s };\n", zone, zoneFile(t, dir, zone, zone), policy)
	}
	return b.String()
}

// bind writes a configuration that ends with the statements, and returns the
// arguments of the server.
func bind(t *testing.T, dir string, port int, statements string) []string {
	t.Helper()
	config := filepath.Join(dir, "named.conf")
	text := fmt.Sprintf(`options {
  directory %q; pid-file %q; session-keyfile %q; listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; dnssec-validation no; notify no; managed-keys-directory %q;
};
controls { };
%s`, dir, filepath.Join(dir, "pid"), filepath.Join(dir, "session.key"), port, dir, statements)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-g", "-n", "1", "-c", config}
}

// zoneFile writes a zone in which some names are taken.
func zoneFile(t *testing.T, dir, name, zone string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	content := fmt.Sprintf("$ORIGIN %s.\n$TTL 60\n@ IN SOA ns root 1 60 60 600 60\n@ IN NS ns\nns IN A 127.0.0.1\ntaken IN A 198.18.0.77\ntaken-name IN CNAME ns\n", zone)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Ask returns what a resolver would see.
func (n Server) Ask(name string, t uint16) ([]string, error) {
	c := mdns.Client{Net: "tcp", Timeout: 2 * time.Second}
	answer, _, err := c.Exchange(new(mdns.Msg).SetQuestion(name, t), n.Address)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, rr := range answer.Answer {
		found = append(found, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	return found, nil
}

// Want fails the test unless a resolver would see just that.
func (n Server) Want(t *testing.T, name string, kind uint16, want ...string) {
	t.Helper()
	got, err := n.Ask(name, kind)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s: (-want +got)\n%s", name, mdns.TypeToString[kind], diff)
	}
}
