package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// Refusal returns what makes the spec of an IngressController contradict
// itself, so that no part of it is applied; nil if nothing does. It depends on
// the object alone: the operator, which says so in the condition Admitted, and
// the routers, which keep the last spec that was not refused, come to the same
// verdict without each other.
//
// What concerns other objects, such as a domain that another IngressController
// has, is the operator's to judge. It matters only before there are routers,
// because a domain never changes afterwards.
func Refusal(ic *operatorv1.IngressController) []api.Finding {
	f := &faults{object: api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: ic.Namespace, Name: ic.Name}}
	f.ports(ic)
	f.selectors(&ic.Spec)
	f.buffers(&ic.Spec.TuningOptions)
	f.profile(ic.Spec.TLSSecurityProfile)
	for i, p := range ic.Spec.ClientTLS.AllowedSubjectPatterns {
		if _, err := regexp.Compile(p); err != nil {
			f.add(fmt.Sprintf("spec.clientTLS.allowedSubjectPatterns[%d]", i), "failed to parse the pattern: %v", err)
		}
	}
	return f.list
}

// faults collects the findings of Refusal.
type faults struct {
	object api.ObjectRef
	list   []api.Finding
}

func (f *faults) add(field, format string, args ...any) {
	f.list = append(f.list, api.Finding{
		Object: f.object, Field: field, Reason: api.ReasonInvalid, Severity: api.SeverityError,
		Message: fmt.Sprintf(format, args...), Effect: "no change of the IngressController is applied",
	})
}

// ports judges spec.endpointPublishingStrategy.hostNetwork, if it is what holds.
func (f *faults) ports(ic *operatorv1.IngressController) {
	s, used := ic.Spec.EndpointPublishingStrategy, ic.Status.EndpointPublishingStrategy
	if s == nil || s.HostNetwork == nil || s.Type != operatorv1.HostNetworkStrategyType || used != nil && used.Type != s.Type {
		return
	}
	or := func(port, fallback int32) int32 {
		if port == 0 {
			return fallback
		}
		return port
	}
	http, https, stats := or(s.HostNetwork.HTTPPort, 80), or(s.HostNetwork.HTTPSPort, 443), or(s.HostNetwork.StatsPort, 1936)
	if http == https || http == stats || https == stats {
		f.add("spec.endpointPublishingStrategy.hostNetwork", "the ports must differ: httpPort %d, httpsPort %d, statsPort %d", http, https, stats)
	}
}

func (f *faults) selectors(spec *operatorv1.IngressControllerSpec) {
	if p := spec.NodePlacement; p != nil && p.NodeSelector != nil && len(p.NodeSelector.MatchExpressions) > 0 {
		f.add("spec.nodePlacement.nodeSelector.matchExpressions", "only matchLabels can be used")
	}
	for _, s := range []struct {
		field    string
		selector *metav1.LabelSelector
	}{{"spec.routeSelector", spec.RouteSelector}, {"spec.namespaceSelector", spec.NamespaceSelector}} {
		if _, err := metav1.LabelSelectorAsSelector(s.selector); err != nil {
			f.add(s.field, "is no selector of labels: %v", err)
		}
	}
}

// Sizes that HAProxy gets where spec.tuningOptions has none.
const (
	defaultBuffer  = 32768
	defaultRewrite = 8192
)

func (f *faults) buffers(t *operatorv1.IngressControllerTuningOptions) {
	if t.HeaderBufferBytes == 0 && t.HeaderBufferMaxRewriteBytes == 0 {
		return
	}
	buffer, rewrite := t.HeaderBufferBytes, t.HeaderBufferMaxRewriteBytes
	if buffer == 0 {
		buffer = defaultBuffer
	}
	if rewrite == 0 {
		rewrite = defaultRewrite
	}
	if buffer <= rewrite {
		f.add("spec.tuningOptions.headerBufferBytes", "headerBufferBytes (%d) must be greater than headerBufferMaxRewriteBytes (%d)", buffer, rewrite)
	}
}

// profile judges a TLS profile of one's own; the others are well known.
func (f *faults) profile(p *configv1.TLSSecurityProfile) {
	const field = "spec.tlsSecurityProfile.custom"
	switch {
	case p == nil || p.Type != configv1.TLSProfileCustomType:
		return
	case p.Custom == nil:
		f.add(field, "security profile is not defined")
		return
	case len(p.Custom.Ciphers) == 0:
		f.add(field+".ciphers", "security profile has an empty ciphers list")
		return
	}
	bad := slices.DeleteFunc(slices.Clone(p.Custom.Ciphers), cipherName.MatchString)
	if len(bad) > 0 {
		f.add(field+".ciphers", "security profile has invalid ciphers: %s", strings.Join(bad, ", "))
		return
	}
	version, known := versions[p.Custom.MinTLSVersion]
	if p.Custom.MinTLSVersion == "" {
		version, known = "TLSv1.2", true
	}
	if !known {
		f.add(field+".minTLSVersion", "security profile has an invalid minimum security protocol version: %q", p.Custom.MinTLSVersion)
		return
	}
	old, suites := splitCiphers(p.Custom.Ciphers)
	if problem := profileProblem(version, len(old), len(suites)); problem != "" {
		f.add(field+".ciphers", "%s", problem)
	}
}
