package settings_test

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/settings"
)

func profile(version configv1.TLSProtocolVersion, ciphers ...string) func(*operatorv1.IngressController) {
	return func(ic *operatorv1.IngressController) {
		ic.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
			TLSProfileSpec: configv1.TLSProfileSpec{Ciphers: ciphers, MinTLSVersion: version},
		}}
	}
}

func hostPorts(http, https, stats int32) func(*operatorv1.IngressController) {
	return func(ic *operatorv1.IngressController) {
		ic.Spec.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
			Type:        operatorv1.HostNetworkStrategyType,
			HostNetwork: &operatorv1.HostNetworkStrategy{HTTPPort: http, HTTPSPort: https, StatsPort: stats},
		}
	}
}

func buffers(size, rewrite int32) func(*operatorv1.IngressController) {
	return func(ic *operatorv1.IngressController) {
		ic.Spec.TuningOptions.HeaderBufferBytes, ic.Spec.TuningOptions.HeaderBufferMaxRewriteBytes = size, rewrite
	}
}

// TestRefusal has what refuses an IngressController as a whole, at its border.
func TestRefusal(t *testing.T) {
	t.Parallel()
	near := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	for _, test := range []struct {
		name string
		edit func(*operatorv1.IngressController)
		want string // empty if it is not refused
	}{
		{"nothing set", func(*operatorv1.IngressController) {}, ""},
		{"buffer of the size of its reserve", buffers(16384, 16384), "headerBufferBytes (16384) must be greater than headerBufferMaxRewriteBytes (16384)"},
		{"buffer above its reserve", buffers(16385, 16384), ""},
		{"reserve of the default buffer's size", buffers(0, 32768), "headerBufferBytes (32768)"},
		{"buffer above the default reserve", buffers(16384, 0), ""},
		{"host ports by default", hostPorts(0, 0, 0), ""},
		{"host port that is another's default", hostPorts(443, 0, 0), "httpPort 443, httpsPort 443"},
		{"statistics on a port of traffic", hostPorts(0, 1936, 0), "statsPort 1936"},
		{"host ports of a strategy that is not used", func(ic *operatorv1.IngressController) {
			hostPorts(443, 0, 0)(ic)
			ic.Status.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.PrivateStrategyType}
		}, ""},
		{"routeSelector", func(ic *operatorv1.IngressController) { ic.Spec.RouteSelector = near }, "spec.routeSelector: is no selector of labels"},
		{"namespaceSelector", func(ic *operatorv1.IngressController) { ic.Spec.NamespaceSelector = near }, "spec.namespaceSelector: is no selector"},
		{"empty selector", func(ic *operatorv1.IngressController) { ic.Spec.RouteSelector = &metav1.LabelSelector{} }, ""},
		{"placement by expressions", func(ic *operatorv1.IngressController) {
			ic.Spec.NodePlacement = &operatorv1.NodePlacement{NodeSelector: near}
		}, "only matchLabels can be used"},
		{"pattern", func(ic *operatorv1.IngressController) {
			ic.Spec.ClientTLS.AllowedSubjectPatterns = []string{"^/CN=a$", "("}
		}, "allowedSubjectPatterns[1]: failed to parse"},
		{"profile by name", func(ic *operatorv1.IngressController) {
			ic.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}
		}, ""},
		{"profile without its part", func(ic *operatorv1.IngressController) {
			ic.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}
		}, "security profile is not defined"},
		{"no ciphers", profile(configv1.VersionTLS12), "empty ciphers list"},
		{"good ciphers", profile(configv1.VersionTLS12, "ECDHE-RSA-AES128-GCM-SHA256", "!aNULL"), ""},
		{"no version", profile("", "ECDHE-RSA-AES128-GCM-SHA256"), ""},
		{"bad ciphers", profile(configv1.VersionTLS12, "AES128-SHA", "a b", "!"), "invalid ciphers: a b, !"},
		{"unknown version", profile("VersionTLS14", "AES128-SHA"), `invalid minimum security protocol version: "VersionTLS14"`},
		{"only suites of 1.3 for 1.2", profile(configv1.VersionTLS12, "TLS_AES_128_GCM_SHA256"), "minTLSVersion allows older"},
		{"no suite of 1.3 for 1.3", profile(configv1.VersionTLS13, "AES128-SHA"), "which minTLSVersion demands"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := &operatorv1.IngressController{}
			test.edit(ic)
			got := settings.Refusal(ic)
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case test.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text(), test.want)):
				t.Errorf("got %v, want one finding with %q", got, test.want)
			}
		})
	}
}
