package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// TestRoleOf: the role for private zones is read of the cluster's DNS object by
// the operator's own account and rights; none is wanted where there is no such
// kind, and no such object. That somebody may not read it is an error, for the
// zones would be asked for in the wrong account.
func TestRoleOf(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	server, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Skipf("no API server (run \"make tools\"): %v", err)
	}
	t.Cleanup(func() { _ = server.Stop() }) // its files go with the folder
	apply := func(paths ...string) {
		t.Helper()
		if err := server.Apply(t.Context(), paths...); err != nil {
			t.Fatal(err)
		}
	}
	apply("../../config/default/namespaces.yaml", "../../config/rbac")
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	operator, nobody := rest.CopyConfig(config), rest.CopyConfig(config)
	operator.Impersonate.UserName = "system:serviceaccount:" + api.OperatorNamespace + ":ingress-operator"
	operator.Impersonate.Groups = []string{"system:authenticated"}
	nobody.Impersonate = operator.Impersonate
	nobody.Impersonate.UserName = "nobody"
	want := func(what, role string) {
		t.Helper()
		wait.Poll{}.For(t, what, func() error { // roles and kinds are taken up after a moment
			got, err := roleOf(t.Context(), operator)
			if err == nil && got != role {
				err = fmt.Errorf("the role is %q, want %q", got, role)
			}
			return err
		})
	}
	want("no such kind", "")
	apply("../../test/cluster/kinds/dnses.config.openshift.io.yaml")
	if _, err := server.Kubectl(t.Context(), "wait", "--for=condition=Established", "crd/dnses.config.openshift.io", "--timeout=30s"); err != nil {
		t.Fatal(err)
	}
	want("no such object", "")
	const role = "arn:aws:iam::111122223333:role/private-zones"
	file := filepath.Join(t.TempDir(), "dns.yaml")
	for _, tt := range []struct{ what, spec, role string }{
		{"no role", "", ""},
		{"a role", ", platform: {type: AWS, aws: {privateZoneIAMRole: '" + role + "'}}", role},
	} {
		object := "apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata: {name: cluster}\nspec: {baseDomain: example.com" + tt.spec + "}\n"
		if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
			t.Fatal(err)
		}
		apply(file)
		want(tt.what, tt.role)
	}
	if got, err := roleOf(t.Context(), nobody); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("without the right to read it: %q, %v", got, err)
	}
}
