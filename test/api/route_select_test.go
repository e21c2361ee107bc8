package api

import (
	"strings"
	"testing"
)

// TestRouteSelection: Routes are in category "all", so that "delete all" leaves
// none behind that goes on holding its host, and can be selected by the fields
// that OpenShift's can be selected by.
func TestRouteSelection(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ns := routeNamespace(t, c)
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := server.Kubectl(t.Context(), append(args, "-n", ns)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	for name, spec := range map[string]string{
		"web":  `{"host":"web.example.com","to":{"kind":"Service","name":"web"}}`,
		"shop": `{"host":"web.example.com","path":"/shop","to":{"kind":"Service","name":"shop"}}`,
	} {
		if err := c.Create(t.Context(), parseRoute(t, ns, name, `{"metadata":{"labels":{"app":"x"}},"spec":`+spec+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	for selector, want := range map[string]string{
		"spec.host=web.example.com": "shop web", "spec.path=/shop": "shop", "spec.to.name=web": "web",
		"spec.host=web.example.com,spec.to.name!=web": "shop", "spec.host=other.example.com": "",
	} {
		if got := kubectl("get", "routes", "--field-selector", selector, "-o", "jsonpath={.items[*].metadata.name}"); got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	if got := kubectl("get", "all", "-o", "name"); !strings.Contains(got, "route.route.openshift.io/web") {
		t.Errorf("get all has no Routes: %q", got)
	}
	kubectl("patch", "route", "web", "--type=merge", "-p", `{"spec":{"to":{"weight":80},"alternateBackends":[{"kind":"Service","name":"next","weight":20}]}}`)
	kubectl("delete", "all", "-l", "app=x")
	if got := kubectl("get", "routes", "-o", "name"); got != "" {
		t.Errorf("delete all leaves %q", got)
	}
}
