package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/cluster"
)

// clusterDNS is the kind that OpenShift has, as far as the operator reads it.
const clusterDNS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dnses.config.openshift.io, annotations: {api-approved.openshift.io: test}}
spec:
  group: config.openshift.io
  names: {kind: DNS, listKind: DNSList, plural: dnses, singular: dns}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

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
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl("apply", "-f", file)
	}
	kubectl("apply", "-f", "../../config/default/namespaces.yaml")
	kubectl("apply", "-k", "../../config/rbac")
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
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // roles and kinds are taken up after a moment
		defer cancel()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			got, err := roleOf(t.Context(), operator)
			if err == nil && got == role {
				return
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %q, %v, want %q", what, got, err, role)
			case <-tick.C:
			}
		}
	}
	want("no such kind", "")
	apply(clusterDNS)
	kubectl("wait", "--for=condition=Established", "crd/dnses.config.openshift.io", "--timeout=30s")
	want("no such object", "")
	const role = "arn:aws:iam::111122223333:role/private-zones"
	object := "apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata: {name: cluster}\nspec: {baseDomain: example.com%s}\n"
	apply(fmt.Sprintf(object, ""))
	want("no role", "")
	apply(fmt.Sprintf(object, ", platform: {type: AWS, aws: {privateZoneIAMRole: '"+role+"'}}"))
	want("a role", role)
	if got, err := roleOf(t.Context(), nobody); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("without the right to read it: %q, %v", got, err)
	}
}
