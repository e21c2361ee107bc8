package api

import (
	"bytes"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRouteDefaultsCost: the API server encodes and decodes an object for each JSON patch, one
// without content as well, and Routes may have large certificates. So a Route that needs no
// patch does not match the policy. Not parallel: the counter is that of all Routes.
func TestRouteDefaultsCost(t *testing.T) {
	c := newClient(t)
	policiesInForce(t, c)
	ns := routeNamespace(t, c)
	for spec, needs := range map[string]bool{
		"{host: a.b, to: {name: a}}": false,
		"{host: a.b, to: {kind: Service, name: a}, tls: {termination: reencrypt, destinationCACertificate: x, insecureEdgeTerminationPolicy: Redirect}, " +
			"alternateBackends: [{name: b}, {kind: Service, name: c}], wildcardPolicy: None}": false,
		"{host: a.b, to: {kind: '', name: a}}":                                                                                         true,
		"{host: a.b, to: {name: a}, alternateBackends: [{kind: '', name: a}]}":                                                         true,
		"{host: a.b, to: {name: a}, wildcardPolicy: ''}":                                                                               true,
		"{host: a.b, to: {name: a}, tls: {}}":                                                                                          true,
		"{host: a.b, to: {name: a}, tls: {termination: Edge}}":                                                                         true,
		"{host: a.b, to: {name: a}, tls: {termination: edge, destinationCACertificate: \" -----BEGIN COMMENT-----\"}}":                 true,
		"{host: a.b, to: {name: a}, tls: {termination: passthrough, destinationCACertificate: ''}, path: /, port: {targetPort: http}}": false,
	} {
		before := patchesOfDefaults(t)
		// What else is wrong with it does not matter: rules are checked after the policies.
		if err := c.Create(t.Context(), parseRoute(t, ns, "cost", "spec: "+spec), client.DryRunAll); err != nil && !strings.Contains(err.Error(), "is invalid") {
			t.Fatal(err)
		}
		if patched := patchesOfDefaults(t) > before; patched != needs {
			t.Errorf("%s: patched: %v, want %v", spec, patched, needs)
		}
	}
}

// patchesOfDefaults is how often the API server has evaluated the patches so far.
func patchesOfDefaults(t *testing.T) (n float64) {
	t.Helper()
	text, err := server.Kubectl(t.Context(), "get", "--raw", "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewBufferString(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families["apiserver_mutating_admission_policy_check_total"].GetMetric() {
		if labelOf(m, "policy") == "fairlead-route-defaults" {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
