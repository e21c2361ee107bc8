package settings_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/settings"
)

// TestProcessorTime: what containers reserve is an amount within bounds, or the default with
// a finding.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	amounts := map[string]string{
		"100m": "100m", "500m": "500m", "2": "2", "0.25": "250m", "64": "64", "64000m": "64",
		"": "", "24m": "", "64001m": "", "65": "", "0": "", "-1": "", "500": "", "1e30": "", "1n": "", "500m\n": "", "half": "", "1Ei": "",
	}
	for _, c := range []struct {
		annotation, usual string
		of                func(map[string]string) resource.Quantity
		// edge is an amount that is enough for the router process only.
		edge string
	}{
		{api.AnnotationHAProxyCPU, "100m", settings.HAProxyCPUOf, ""},
		{api.AnnotationRouterCPU, "25m", settings.RouterCPUOf, "99m"},
	} {
		amounts["99m"] = c.edge
		for text, want := range amounts {
			ic := &operatorv1.IngressController{}
			ic.Annotations = map[string]string{c.annotation: text}
			cpu := c.of(ic.Annotations)
			_, findings := settings.From(ic, settings.Flags{})
			if wrong := want == ""; (len(findings) > 0) != wrong {
				t.Errorf("%s %q: findings %v", c.annotation, text, findings)
			}
			if want == "" {
				want = c.usual
			}
			if got := cpu.String(); got != want {
				t.Errorf("%s %q: %s, want %s", c.annotation, text, got, want)
			}
		}
		if cpu := c.of(nil); cpu.String() != c.usual {
			t.Errorf("nothing said: %v", &cpu)
		}
	}
}
