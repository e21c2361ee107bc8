package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// apply applies a manifest with kubectl, as a user does, and returns what kubectl says.
func apply(t *testing.T, manifest string) error {
	t.Helper()
	newClient(t)
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Kubectl(t.Context(), "apply", "-f", file)
	return err
}

const routeHead = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: NAME, namespace: default}\nspec:\n"

// TestRouteRefusals shows what users read when a Route cannot be right.
func TestRouteRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, spec, want string }{
		{"host in upper case", "  host: Shop.example.com\n  to: {kind: Service, name: a}", "spec.host must be in lower case"},
		{"host with a star", "  host: '*.example.com'\n  to: {kind: Service, name: a}", "spec.host"},
		{"path without slash", "  path: shop\n  to: {kind: Service, name: a}", "spec.path"},
		{"path with space", "  path: '/a b'\n  to: {kind: Service, name: a}", "spec.path cannot contain # or spaces"},
		{"no backend", "  host: a.example.com", "spec.to"},
		{"weight too large", "  to: {kind: Service, name: a, weight: 257}", "spec.to.weight"},
		{"backend of another kind", "  to: {kind: Pod, name: a}", "spec.to.kind"},
		{"too many backends", "  to: {kind: Service, name: a}\n  alternateBackends: [{kind: Service, name: b}, {kind: Service, name: c}, {kind: Service, name: d}, {kind: Service, name: e}]", "spec.alternateBackends"},
		{"port zero", "  port: {targetPort: 0}\n  to: {kind: Service, name: a}", "spec.port.targetPort"},
		{"unknown termination", "  tls: {termination: none}\n  to: {kind: Service, name: a}", "spec.tls.termination"},
		{"passthrough with path", "  path: /a\n  tls: {termination: passthrough}\n  to: {kind: Service, name: a}", "spec.path"},
		{"passthrough with certificate Secret", "  tls: {termination: passthrough, externalCertificate: {name: x}}\n  to: {kind: Service, name: a}", "spec.tls.externalCertificate must be empty"},
		{"passthrough and allow", "  tls: {termination: passthrough, insecureEdgeTerminationPolicy: Allow}\n  to: {kind: Service, name: a}", "insecureEdgeTerminationPolicy: Allow"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := apply(t, strings.ReplaceAll(routeHead, "NAME", "refused")+test.spec)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
		})
	}
}

func TestRouteWildcardPolicyCannotChange(t *testing.T) {
	t.Parallel()
	route := strings.ReplaceAll(routeHead, "NAME", "fixed") + "  host: x.fixed.example.com\n  to: {kind: Service, name: a}\n"
	if err := apply(t, route); err != nil {
		t.Fatal(err)
	}
	err := apply(t, route+"  wildcardPolicy: Subdomain\n")
	if err == nil || !strings.Contains(err.Error(), "spec.wildcardPolicy cannot be changed") {
		t.Errorf("got %v", err)
	}
}

func TestRouteColumns(t *testing.T) {
	t.Parallel()
	if err := apply(t, strings.ReplaceAll(routeHead, "NAME", "columns")+"  host: columns.example.com\n  path: /shop\n  port: {targetPort: http}\n  tls: {termination: edge}\n  to: {kind: Service, name: shop}\n"); err != nil {
		t.Fatal(err)
	}
	out, err := server.Kubectl(t.Context(), "get", "rt", "columns")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HOST", "PATH", "SERVICES", "PORT", "TERMINATION", "ADMITTED", "REASON", "/shop", "shop", "http", "edge"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

const icHead = "apiVersion: operator.openshift.io/v1\nkind: IngressController\nmetadata: {name: refused, namespace: default}\nspec:\n"

func TestIngressControllerRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, spec, want string }{
		{"negative replicas", "  replicas: -1", "spec.replicas"},
		{"domain in upper case", "  domain: Apps.example.com", "spec.domain"},
		{"equal ports", "  endpointPublishingStrategy: {type: HostNetwork, hostNetwork: {httpPort: 8080, httpsPort: 8080}}", "httpPort and httpsPort must differ"},
		{"stats port equal to the default http port", "  endpointPublishingStrategy: {type: HostNetwork, hostNetwork: {statsPort: 80}}", "statsPort must differ"},
		{"expressions in the node selector", "  nodePlacement: {nodeSelector: {matchExpressions: [{key: a, operator: Exists}]}}", "use matchLabels"},
		{"header buffer of the size of its reserve", "  tuningOptions: {headerBufferBytes: 16384, headerBufferMaxRewriteBytes: 16384}", "headerBufferBytes must be greater"},
		{"reserve of the default buffer's size", "  tuningOptions: {headerBufferMaxRewriteBytes: 32768}", "headerBufferBytes must be greater"},
		{"TLS profile without ciphers", "  tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS12}}", "needs custom.ciphers"},
		{"unknown strategy", "  endpointPublishingStrategy: {type: Magic}", "spec.endpointPublishingStrategy.type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := apply(t, icHead+test.spec)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
		})
	}
}

// TestIngressControllerFrozenFields writes a status as the operator does, and
// then changes what cannot change any more.
func TestIngressControllerFrozenFields(t *testing.T) {
	t.Parallel()
	head := strings.ReplaceAll(icHead, "refused", "frozen")
	if err := apply(t, head+"  replicas: 1\n"); err != nil {
		t.Fatal(err)
	}
	status := `{"status":{"domain":"a.example.com","availableReplicas":0,"selector":"x=y","endpointPublishingStrategy":{"type":"Private"}}}`
	if _, err := server.Kubectl(t.Context(), "patch", "ic", "frozen", "--subresource=status", "--type=merge", "-p", status); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"  domain: b.example.com":                               "spec.domain cannot be changed",
		"  endpointPublishingStrategy: {type: NodePortService}": "spec.endpointPublishingStrategy.type cannot be changed",
	} {
		if err := apply(t, head+spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a refusal with %q", err, want)
		}
	}
	if err := apply(t, head+"  domain: a.example.com\n  endpointPublishingStrategy: {type: Private}\n"); err != nil {
		t.Errorf("writing down what is in use: %v", err)
	}
}

// TestCRDsAreGenerated fails if a generated file was edited.
func TestCRDsAreGenerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./config/generate", "-out", dir)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing was generated (%v)", err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(file, dir)
		got, err := os.ReadFile("../../config" + name)
		if err != nil || string(got) != string(want) {
			t.Errorf("config%s is not what \"make generate\" writes (%v)", name, err)
		}
	}
}
