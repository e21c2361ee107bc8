package named

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
		return []string{"-c", configureKnot(t, dir, port)}
	})
}

func configureKnot(t *testing.T, dir string, port int) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `server:
    listen: 127.0.0.1@%d
    rundir: %s
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: %s
key:
  - id: %s
    algorithm: hmac-sha256
    secret: %s
acl:
  - id: may-update
    key: %s
    action: [update, query]
log:
  - target: stderr
    any: warning
zone:
`, port, dir, dir, Key, Secret, Key)
	for zone, acl := range map[string]string{"example.com": "    acl: may-update\n", "child.example.com": "    acl: may-update\n", "fixed.example.com": ""} {
		fmt.Fprintf(&b, "  - domain: %s\n    file: %s\n%s", zone, zoneFile(t, dir, zone), acl)
	}
	config := filepath.Join(dir, "knot.conf")
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}
