package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRouteUpdateRules: rules that depend on what the Route was.
func TestRouteUpdateRules(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	ns := routeNamespace(t, c)
	long := label64 + ".example.com"
	const lenient = "metadata: {annotations: {route.openshift.io/allow-non-dns-compliant-host: 'true'}}\n"
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"wildcardPolicy set", "spec: {host: a.b, to: {name: a}}", "spec: {host: a.b, wildcardPolicy: Subdomain, to: {name: a}}", []string{"spec.wildcardPolicy cannot be changed"}},
		{"wildcardPolicy taken away", "spec: {host: a.b, wildcardPolicy: Subdomain, to: {name: a}}", "spec: {host: a.b, to: {name: a}}", []string{"spec.wildcardPolicy cannot be changed"}},
		{"wildcardPolicy emptied", "spec: {host: a.b, wildcardPolicy: None, to: {name: a}}", "spec: {host: a.b, wildcardPolicy: '', to: {name: a}}", nil},
		{"long label stays", lenient + "spec: {host: " + long + ", to: {name: a}}", "spec: {host: " + long + ", path: /new, to: {name: a}}", nil},
		{"long label changes", lenient + "spec: {host: " + long + ", to: {name: a}}", "spec: {host: b" + long + ", to: {name: a}}", nil},
		{"label becomes long", "spec: {host: a.b, to: {name: a}}", "spec: {host: " + long + ", to: {name: a}}", []string{"spec.host", "63 characters"}},
		{"path becomes bad", "spec: {host: a.b, path: /a, to: {name: a}}", "spec: {host: a.b, path: '/a#', to: {name: a}}", []string{"spec.path"}},
		{"backend changes", "spec: {host: a.b, to: {name: a}}", "spec: {host: a.b, to: {name: b, weight: 1}}", nil},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			old := parseRoute(t, ns, fmt.Sprintf("update%d", i), test.old)
			if err := c.Create(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			checkUpdate(t, c, old, parseRoute(t, ns, old.GetName(), test.new), test.want)
		})
	}
}

// checkUpdate replaces a Route as the client's user, without storing it.
func checkUpdate(t *testing.T, c client.Client, old, changed *unstructured.Unstructured, want []string) {
	t.Helper()
	changed.SetResourceVersion(old.GetResourceVersion())
	err := c.Update(t.Context(), changed, client.DryRunAll)
	if want == nil && err != nil {
		t.Errorf("refused: %v", err)
	}
	if want != nil {
		if err := refusal(err, want...); err != nil {
			t.Error(err)
		}
	}
}

// TestRouteHostKept: an update without a host keeps the host.
func TestRouteHostKept(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	ns := routeNamespace(t, c)
	edit := userWith(t, c, ns, "create-only", "create")
	old := parseRoute(t, ns, "kept", "spec: {host: kept.example.com, to: {name: a}}")
	if err := edit.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		for _, spec := range []string{"spec: {to: {name: b}}", "spec: {host: '', to: {name: b}}"} {
			changed := parseRoute(t, ns, "kept", spec)
			changed.SetResourceVersion(old.GetResourceVersion())
			if err := edit.Update(t.Context(), changed, client.DryRunAll); err != nil {
				return err
			}
			if host, _, _ := unstructured.NestedString(changed.Object, "spec", "host"); host != "kept.example.com" {
				return fmt.Errorf("%s: host %q", spec, host)
			}
		}
		return nil
	})
}

// TestRouteExplain: "kubectl explain" has something to say about each field that users write.
func TestRouteExplain(t *testing.T) {
	t.Parallel()
	newClient(t)
	for field, want := range map[string]string{
		"route.spec":                         "NAME-NAMESPACE.DOMAIN",
		"route.spec.path":                    "/foobar",
		"route.spec.port.targetPort":         "number of a port of the pods",
		"route.spec.tls.externalCertificate": "kubernetes.io/tls",
	} {
		eventually(t, func() error {
			out, err := server.Kubectl(t.Context(), "explain", field)
			if err != nil {
				return err
			}
			return textIn(strings.Join(strings.Fields(out), " "), want) // explain breaks lines
		})
	}
}

func textIn(text, want string) error {
	if !strings.Contains(text, want) {
		return errors.New(want + " is missing in: " + text)
	}
	return nil
}
