package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// commandsOf returns the commands of docs/routes/api.md that begin so.
func commandsOf(t *testing.T, begin string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/routes/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(page)) {
		if command, ok := strings.CutPrefix(line, "    "+begin); ok {
			found = append(found, begin+strings.TrimSpace(command))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d commands begin with %q, want 1", len(found), begin)
	}
	return found
}

// TestDocumentedCommands runs the commands by which the page says that weights
// change, with kubectl as oc. What "oc set route-backends" prints is made here
// as oc makes it, of the Route as it is; a change in between is not lost.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	namespace := routeNamespace(t, c)
	kubectl, err := toolset.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: namespace, Name: "shop"}
	printed := filepath.Join(t.TempDir(), "printed.yaml")
	run := func(command string) error {
		// oc is a client like kubectl, but for its own commands.
		script := `kubectl() { "$KUBECTL" --kubeconfig "$CONFIG" -n "$NAMESPACE" "$@"; }
oc() { if [ "$1" = set ]; then cat "$PRINTED"; else kubectl "$@"; fi; }
` + command
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = append(os.Environ(), "KUBECTL="+kubectl, "CONFIG="+server.Kubeconfig(), "NAMESPACE="+namespace, "PRINTED="+printed)
		out, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", command, out)
		return err
	}
	// set prints the Route with other weights, as "oc set route-backends" does.
	set := func(first, second int32) {
		t.Helper()
		route := &routev1.Route{}
		if err := c.Get(t.Context(), key, route); err != nil {
			t.Fatal(err)
		}
		route.SetGroupVersionKind(routev1.GroupVersion.WithKind("Route"))
		route.Spec.To.Weight = &first
		route.Spec.AlternateBackends = []routev1.RouteTargetReference{{Kind: "Service", Name: "shop-b", Weight: &second}}
		text, err := yaml.Marshal(route)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(printed, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	weights := func(first, second int32) {
		t.Helper()
		route := &routev1.Route{}
		if err := c.Get(t.Context(), key, route); err != nil {
			t.Fatal(err)
		}
		if a := route.Spec.AlternateBackends; len(a) != 1 || *a[0].Weight != second || *route.Spec.To.Weight != first {
			t.Errorf("spec %+v, want weights %d and %d", route.Spec, first, second)
		}
	}
	if err := c.Create(t.Context(), parseRoute(t, namespace, "shop", "spec: {host: shop.commands.example.com, to: {kind: Service, name: shop}}")); err != nil {
		t.Fatal(err)
	}
	route := &routev1.Route{}
	if err := c.Get(t.Context(), key, route); err != nil {
		t.Fatal(err)
	}
	admit(t, c, route, "default") // what is printed has a status
	if err := run(commandsOf(t, "oc patch route shop ")[0]); err != nil {
		t.Fatal(err)
	}
	weights(80, 20)
	pipeline := commandsOf(t, "oc set route-backends ")[0]
	set(60, 40)
	if err := run(pipeline); err != nil {
		t.Fatal(err)
	}
	weights(60, 40)
	set(50, 50)
	if err := run("kubectl annotate route shop changed=meanwhile"); err != nil {
		t.Fatal(err)
	}
	if err := run(pipeline); err == nil {
		t.Error("the change in between is lost")
	}
	weights(60, 40)
}
