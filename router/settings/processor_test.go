package settings_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/settings"
)

// TestHAProxyCPU: what HAProxy reserves is an amount within bounds, or the default with a
// finding.
func TestHAProxyCPU(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"100m": "100m", "500m": "500m", "2": "2", "0.25": "250m", "64": "64", "64000m": "64",
		"": "", "99m": "", "64001m": "", "65": "", "0": "", "-1": "", "500": "", "1e30": "", "1n": "", "500m\n": "", "half": "", "1Ei": "",
	} {
		ic := &operatorv1.IngressController{}
		ic.Annotations = map[string]string{api.AnnotationHAProxyCPU: text}
		cpu, fault := settings.HAProxyCPUOf(ic.Annotations)
		_, findings := settings.From(ic, settings.Flags{})
		if wrong := want == ""; (fault != "") != wrong || (len(findings) > 0) != wrong {
			t.Errorf("%q: fault %q, findings %v", text, fault, findings)
		}
		if want == "" {
			want = settings.HAProxyCPU
		}
		if got := cpu.String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if cpu, fault := settings.HAProxyCPUOf(nil); cpu.String() != settings.HAProxyCPU || fault != "" {
		t.Errorf("nothing said: %v, %q", cpu, fault)
	}
}
