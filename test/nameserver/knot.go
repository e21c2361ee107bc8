package nameserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// StartKnot runs a Knot with the same zones and key.
func StartKnot(t *testing.T) Server {
	t.Helper()
	return start(t, "knotd", func(dir string, port int) []string {
		var b strings.Builder
		fmt.Fprintf(&b, `key:
  - id: %s
    algorithm: hmac-sha256
    secret: %s
acl:
  - id: may-update
    key: %s
    action: [update, query]
zone:
`, Key, Secret, Key)
		for zone, acl := range map[string]string{"example.com": "    acl: may-update\n", "child.example.com": "    acl: may-update\n", "fixed.example.com": ""} {
			fmt.Fprintf(&b, "  - domain: %s\n    file: %s\n%s", zone, zoneFile(t, dir, zone, zone), acl)
		}
		return knot(t, dir, port, b.String())
	})
}

// StartKnotWith runs a Knot with the sections that are given, and the zone
// example.com where Knot looks for it.
func StartKnotWith(t *testing.T, sections string) Server {
	t.Helper()
	return start(t, "knotd", func(dir string, port int) []string {
		zoneFile(t, dir, "example.com.zone", "example.com")
		return knot(t, dir, port, sections)
	})
}

// knot writes a configuration that ends with the sections, and returns the
// arguments of the server.
func knot(t *testing.T, dir string, port int, sections string) []string {
	t.Helper()
	config := filepath.Join(dir, "knot.conf")
	text := fmt.Sprintf(`server:
    listen: 127.0.0.1@%d
    rundir: %s
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: %s
log:
  - target: stderr
    any: warning
template:
  - id: default
    storage: %s
%s`, port, dir, dir, dir, sections)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-c", config}
}
