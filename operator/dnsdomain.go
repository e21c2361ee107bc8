package operator

import (
	"context"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/dns"
)

// notOurName says why the name of an IngressController is not the operator's to
// publish, whatever the IngressController wants, or "": it lies outside of the
// domain that the zones are for, as on OpenShift. Zones that the administrator
// names speak for themselves.
func notOurName(domain string, o Options, cluster *configv1.DNSSpec) string {
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
			return source + " has no baseDomain, so names are published by somebody else"
		}
	}
	if domain = strings.Trim(domain, "."); domain == "" || strings.HasSuffix(strings.ToLower("."+domain), strings.ToLower("."+base)) {
		return ""
	}
	return "the domain " + domain + " does not lie in " + base + ", which " + source + " says"
}

// withoutName makes a name that is not ours Unmanaged.
func withoutName(s settings) settings {
	if s.notOurName != "" && s.strategy.LoadBalancer != nil {
		s.strategy = *s.strategy.DeepCopy()
		s.strategy.LoadBalancer.DNSManagementPolicy = operatorv1.UnmanagedLoadBalancerDNS
	}
	return s
}

// clusterDNS is what dns.config.openshift.io/cluster says; nil if there is none.
type clusterDNS struct{ spec *configv1.DNSSpec }

// followClusterDNS wakes all IngressControllers when the cluster's domain is
// another one.
func (r *Reconciler) followClusterDNS(ctx context.Context) error {
	return dns.Follow(ctx, r.live, r.options.ClusterPoll, r.options.Log, func(now *configv1.DNSSpec) {
		old := r.clusterDNS.Swap(&clusterDNS{now})
		if old == nil || equality.Semantic.DeepEqual(old.spec, now) {
			return
		}
		r.wakeAll(ctx)
	})
}

// readClusterDNS returns what the cluster says of its domain. The first time it
// asks: what was published once would stay.
func (r *Reconciler) readClusterDNS(ctx context.Context) (*configv1.DNSSpec, error) {
	known := r.clusterDNS.Load()
	if known != nil || !r.options.DNS && !r.options.DNSByService {
		return known.domain(), nil
	}
	now, err := dns.ReadCluster(ctx, r.live)
	if err != nil {
		return nil, err
	}
	r.clusterDNS.CompareAndSwap(nil, &clusterDNS{now})
	return now, nil
}

func (c *clusterDNS) domain() *configv1.DNSSpec {
	if c == nil {
		return nil
	}
	return c.spec
}

// announceDNS writes an event when a name turns out not to be ours.
func (r *Reconciler) announceDNS(in statusInput, status operatorv1.IngressControllerStatus) {
	now := findCondition(status.Conditions, conditionDNSManaged)
	old := findCondition(in.ic.Status.Conditions, conditionDNSManaged)
	if in.s.notOurName == "" || now == nil || old != nil && old.Message == now.Message {
		return
	}
	r.notices.Say(in.ic, corev1.EventTypeWarning, api.ReasonDomainNotMatching, now.Message)
}

// Annotations by which external-dns is asked to publish the name of a Service.
const (
	annotationExternalName = "external-dns.alpha.kubernetes.io/hostname"
	annotationExternalTTL  = "external-dns.alpha.kubernetes.io/ttl"
)

// namedService asks external-dns for the wildcard name by annotations of the
// Service, where the operator is told to leave names to it in this way. What an
// administrator annotated himself wins.
func namedService(desired, live *corev1.Service, s settings) {
	if !s.nameByService {
		return
	}
	annotate(desired, live, map[string]string{
		annotationExternalName: "*." + s.domain, annotationExternalTTL: strconv.FormatInt(s.recordTTL, 10),
	})
}
