package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/wait"
)

const hstsConfig = `
apiVersion: config.openshift.io/v1
kind: Ingress
metadata: {name: cluster}
spec:
  domain: apps.example.com
  requiredHSTSPolicies:
  - domainPatterns: ["free.example.com"]
    maxAge: {}
  - domainPatterns: ["*.example.com", bank.test]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: testrequiredhsts}, matchExpressions: [{key: untrusted, operator: DoesNotExist}]}
    maxAge: {smallestMaxAge: 100, largestMaxAge: 200}
    preloadPolicy: RequirePreload
    includeSubDomainsPolicy: RequireNoIncludeSubDomains
`

// TestRequiredHSTS installs config/required-hsts. Not parallel, because its
// policy is for all Routes, and no test may write one until it is in force.
func TestRequiredHSTS(t *testing.T) {
	if testing.Short() {
		t.Skip("the API server needs half a minute to see a new kind")
	}
	c := newClient(t)
	ns := routeNamespace(t, c)
	old := parseRoute(t, ns, "old", "spec: {host: bank.test, to: {name: a}}")
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := server.Kubectl(ctx, args...)
		return err
	}
	t.Cleanup(func() {
		err := errors.Join(
			kubectl("delete", "validatingadmissionpolicybinding", "fairlead-required-hsts"),
			kubectl("delete", "validatingadmissionpolicy", "fairlead-required-hsts"),
		)
		eventually(t, func() error {
			r := parseRoute(t, ns, "hsts", "spec: {host: a.example.com, to: {name: a}}")
			return c.Create(context.Background(), r, client.DryRunAll)
		})
		if err := errors.Join(err, kubectl("delete", "crd", "ingresses.config.openshift.io")); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(
		kubectl("apply", "--server-side", "-k", "../../config/required-hsts"),
		kubectl("wait", "--for=condition=Established", "crd/ingresses.config.openshift.io"),
		apply(t, hstsConfig),
	); err != nil {
		t.Fatal(err)
	}
	create := func(host, annotation, spec string) error {
		r := parseRoute(t, ns, "hsts", fmt.Sprintf("metadata: {annotations: {haproxy.router.openshift.io/hsts_header: '%s'}}\nspec: {host: %s, to: {name: a}%s}", annotation, host, spec))
		return c.Create(t.Context(), r, client.DryRunAll)
	}
	// The API server learns of a new kind within half a minute.
	wait.Poll{Limit: time.Minute, Every: 200 * time.Millisecond}.For(t, "the policy refuses a Route", func() error {
		if err := create("bank.test", "", ""); err == nil || !strings.Contains(err.Error(), "max-age must be set") {
			return fmt.Errorf("the API server says %v", err) //nolint:errorlint // often nil
		}
		return nil
	})
	tests := []struct{ name, host, annotation, spec, want string }{
		{"follows", "a.b.example.com", "max-age=100; preload", ", tls: {termination: edge}", ""},
		{"follows with other case", "bank.test", `PRELOAD ; Max-Age = "200"`, ", tls: {termination: reencrypt}", ""},
		{"no host of a policy", "other.test", "", "", ""},
		{"passthrough", "bank.test", "", ", tls: {termination: passthrough}", ""},
		{"first policy decides", "free.example.com", "max-age=5;includeSubDomains", "", ""},
		{"none", "free.example.com", "", "", "max-age must be set in HSTS annotation"},
		{"dots are dots", "bankxtest", "", "", ""},
		{"not a number", "bank.test", "max-age=many;preload", "", "max-age must be set in HSTS annotation"},
		{"no 32 bits", "bank.test", "max-age=2147483648;preload", "", "max-age must be set in HSTS annotation"},
		{"too small", "bank.test", "max-age=99;preload", "", "is less than minimum age (100)"},
		{"too large", "bank.test", "max-age=201;preload", "", "is greater than maximum age (200)"},
		{"no preload", "bank.test", "max-age=100", "", "preload must be specified"},
		{"subdomains", "bank.test", "max-age=100;preload;includeSubDomains", "", "includeSubDomains must not be specified"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := create(test.host, test.annotation, test.spec)
			if test.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
		})
	}
	checkUpdate(t, c, old, parseRoute(t, ns, "old", "spec: {host: bank.test, path: /new, to: {name: a}}"), nil)
	changed := parseRoute(t, ns, "old", "metadata: {annotations: {haproxy.router.openshift.io/hsts_header: max-age=1}}\nspec: {host: bank.test, to: {name: a}}")
	changed.SetResourceVersion(old.GetResourceVersion())
	if err := c.Update(t.Context(), changed, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "minimum age") {
		t.Errorf("a changed annotation: %v", err)
	}
}
