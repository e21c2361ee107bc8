package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// TestCanary: with all well the canary answers through the router's address. When
// nothing leads from the routers to pods any more, while routers, address and pods
// stay ready, the condition says so; in the long form the IngressController is degraded.
func TestCanary(t *testing.T) {
	p := installed(t)
	interval(t, p, "4s")
	t.Cleanup(func() { interval(t, p, "1m") })
	becomes := func(limit time.Duration, kind, want string) {
		t.Helper()
		err := wait.Poll{Limit: limit, Every: wait.Slowly}.Until(t.Context(), kind, func() error {
			out, err := p.Cluster.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "get", "ingresscontroller", "default", "-o",
				`jsonpath={range .status.conditions[?(@.type=="`+kind+`")]}{.status} {.reason} {.message}{end}`)
			if err == nil && !strings.HasPrefix(out, want) {
				err = fmt.Errorf("%s is %q, want %q", kind, out, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	becomes(60*time.Second, "CanaryChecksSucceeding", "True ")
	for _, node := range p.Cluster.Nodes() {
		nft := func(ctx context.Context, rule ...string) {
			t.Helper()
			if _, err := p.Cluster.Exec(ctx, node, append([]string{"nft"}, rule...)...); err != nil {
				t.Error(err)
			}
		}
		nft(t.Context(), "add", "table", "inet", "nocanary")
		t.Cleanup(func() { nft(context.WithoutCancel(t.Context()), "delete", "table", "inet", "nocanary") })
		nft(t.Context(), "add", "chain", "inet", "nocanary", "through", "{ type filter hook forward priority -10; }")
		nft(t.Context(), "add", "rule", "inet", "nocanary", "through", "tcp", "dport", "8443", "reject", "with", "tcp", "reset")
	}
	becomes(90*time.Second, "CanaryChecksSucceeding", "False CanaryChecksRepetitiveFailures")
	if full.Wanted() { // it follows after a minute, which operator/status has by a clock of its own
		becomes(90*time.Second, "Degraded", "True ")
	}
}

// interval restarts the operator with another time between probes.
func interval(t *testing.T, p *install.Product, value string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, args := range [][]string{
		{"set", "env", "deployment/ingress-operator", "CANARY_INTERVAL=" + value},
		{"rollout", "status", "deployment/ingress-operator", "--timeout=60s"},
	} {
		if _, err := p.Cluster.Kubectl(ctx, append([]string{"-n", "openshift-ingress-operator"}, args...)...); err != nil {
			t.Error(err)
		}
	}
}
