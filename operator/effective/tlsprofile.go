package effective

import (
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// TLSProfile returns the TLS profile that holds: the IngressController's
// own, else the cluster's, else Intermediate. The routers read it from
// status.tlsProfile, so they need no right to the cluster's settings.
func TLSProfile(ic *operatorv1.IngressController, cluster *configv1.TLSSecurityProfile) *configv1.TLSProfileSpec {
	for _, p := range []*configv1.TLSSecurityProfile{ic.Spec.TLSSecurityProfile, cluster} {
		switch {
		case p == nil || p.Type == "":
		case p.Type == configv1.TLSProfileCustomType && p.Custom != nil:
			return p.Custom.TLSProfileSpec.DeepCopy()
		case configv1.TLSProfiles[p.Type] != nil:
			return configv1.TLSProfiles[p.Type].DeepCopy()
		}
	}
	return configv1.TLSProfiles[configv1.TLSProfileIntermediateType].DeepCopy()
}
