package main

import (
	"strings"
	"testing"
)

// TestFlags: without a log-in it serves on loopback only, and with one over TLS only.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--auth=ldap", `unknown --auth "ldap"`},
		{"--auth=proxy", "need each other"},
		{"--auth=token --proxy-ca x", "need each other"},
		{"--auth=none --proxy-ca x", "need each other"},
		{"--auth=proxy --proxy-ca x", "needs --tls-cert and --tls-key"},
		{"--auth=proxy --proxy-ca x --tls-cert x --tls-key x --group-header x-remote-user", "two headers"},
		{"", "needs --tls-cert and --tls-key"},
		{"--tls-cert x", "needs --tls-cert and --tls-key"},
		{"--auth=none --tls-cert x", "without TLS"},
		{"--auth=none --base-path fairlead", "is not a path"},
		{"--auth=none --base-path //evil.test/", "is not a path"},
		{"--auth=none x", "unknown argument"},
		{"--auth=none --read-timeout 0s", "less than nothing"},
		{"--auth=none --kubeconfig testdata/kubeconfig --listen 0.0.0.0:0", "on loopback only"},
		{"--auth=none --kubeconfig testdata/kubeconfig --listen :0", "on loopback only"},
		{"--auth=token --kubeconfig testdata/kubeconfig --listen 127.0.0.1:0 --tls-cert /nothing --tls-key /nothing", "read the serving certificate"},
	} {
		if err := run(t.Context(), strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.args, err, tt.want)
		}
	}
}
