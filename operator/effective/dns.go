package effective

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// notOurName says why the name of an IngressController is not the operator's to
// publish, whatever the IngressController wants, or "": it lies outside of the
// domain that the zones are for, as on OpenShift. Zones that the administrator
// names speak for themselves.
func notOurName(domain string, o Defaults, cluster *configv1.DNSSpec) string {
	base := strings.Trim(o.DNSBaseDomain, ".")
	source := "the operator's --dns-base-domain"
	switch {
	case !o.DNS && !o.DNSByService:
		return ""
	case base != "":
	case o.DNSZones || cluster == nil:
		return ""
	default:
		base, source = strings.Trim(cluster.BaseDomain, "."), "dns.config.openshift.io/cluster"
		if base == "" {
			return source + " has no baseDomain, so the operator publishes no names"
		}
	}
	if domain = strings.Trim(domain, "."); domain == "" || strings.HasSuffix(strings.ToLower("."+domain), strings.ToLower("."+base)) {
		return ""
	}
	return "the domain " + domain + " does not lie in " + base + ", which " + source + " says"
}

// withoutName makes a name that is not ours Unmanaged.
func withoutName(s Spec) Spec {
	if s.NotOurName != "" && s.Strategy.LoadBalancer != nil {
		s.Strategy = *s.Strategy.DeepCopy()
		s.Strategy.LoadBalancer.DNSManagementPolicy = operatorv1.UnmanagedLoadBalancerDNS
	}
	return s
}
