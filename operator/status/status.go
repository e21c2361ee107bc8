// Package status decides what the status of an IngressController says: one file
// for the conditions of each child, and summary.go for what follows from them. Pure.
package status

import (
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
	"github.com/fairlead/fairlead/operator/service"
)

// Input is everything that the status of an IngressController says.
type Input struct {
	IC       *operatorv1.IngressController
	Settings effective.Spec
	// Faults are the findings of validate.
	Faults []api.Finding
	// Certificate are the findings about the default certificate.
	Certificate []api.Finding
	// Problems were met while writing children.
	Problems []Problem
	// Deployment and LoadBalancer are nil if they do not exist.
	Deployment   *appsv1.Deployment
	LoadBalancer *corev1.Service
	Pods         []corev1.Pod
	Nodes        []corev1.Node
	// Records are the DNSRecords of the wildcard name; dns says whether the
	// operator publishes names.
	Records []iov1.DNSRecord
	DNS     bool
	// Events are those about the load-balancer Service.
	Events []corev1.Event
	// ClusterProfile is the cluster's TLS profile; may be nil.
	ClusterProfile *configv1.TLSSecurityProfile
	// Passthrough are the Routes that cannot work because TLS ends at the load
	// balancer.
	Passthrough []string
	// Groups are the security groups of a network load balancer.
	Groups service.SecurityGroups
	Canary Canary
	// Addresses are where clients reach the routers.
	Addresses []string
	Now       time.Time
}

// Of returns the status, and after what time it must be looked at again
// although nothing happens (0: never), because a grace period ends.
func Of(in Input) (operatorv1.IngressControllerStatus, time.Duration) {
	status := *in.IC.Status.DeepCopy()
	status.ObservedGeneration = in.IC.Generation
	status.Selector = pod.Selector(in.IC.Name)
	if len(in.Faults) == 0 {
		status.Domain = in.Settings.Domain
		status.EffectiveHAProxyVersion = operatorv1.HAProxyVersion(in.Settings.HAProxy)
		status.EndpointPublishingStrategy = in.Settings.Strategy.DeepCopy()
		if lb := status.EndpointPublishingStrategy.LoadBalancer; lb != nil && in.LoadBalancer != nil {
			lb.AllowedSourceRanges = nil
			for _, r := range in.LoadBalancer.Spec.LoadBalancerSourceRanges {
				lb.AllowedSourceRanges = append(lb.AllowedSourceRanges, operatorv1.CIDR(r))
			}
		}
		status.TLSProfile = effective.TLSProfile(in.IC, in.ClusterProfile)
		status.NamespaceSelector = in.IC.Spec.NamespaceSelector.DeepCopy()
		status.RouteSelector = in.IC.Spec.RouteSelector.DeepCopy()
	}
	status.AvailableReplicas = 0
	if in.Deployment != nil {
		status.AvailableReplicas = in.Deployment.Status.AvailableReplicas
	}
	basic := basicConditions(in)
	timed := withTimes(in.IC.Status.Conditions, basic, in.Now)
	// The routers' own word is not the operator's to change.
	settings := Find(in.IC.Status.Conditions, api.ConditionSettingsApplied)
	if settings != nil {
		timed = append(timed, *settings)
	}
	degraded, again := degradedCondition(timed, in.Now)
	if in.Canary.Trouble != nil && (again == 0 || again > canaryRetry) {
		again = canaryRetry
	}
	basic = append(basic, availableCondition(timed), progressingCondition(timed), degraded)
	status.Conditions = withTimes(in.IC.Status.Conditions, basic, in.Now)
	if settings != nil {
		status.Conditions = append(status.Conditions, *settings)
	}
	return status, again
}

// basicConditions are those that do not follow from others.
func basicConditions(in Input) []condition {
	list := []condition{
		choose(ConditionAdmitted, len(in.Faults) == 0, api.ReasonValid, api.ReasonInvalid, Messages(in.Faults)),
		childrenCondition(in.Problems),
	}
	certificate := isTrue(ConditionCertificate, "AsExpected", "")
	if len(in.Certificate) > 0 {
		served := in.Certificate[0].Severity == api.SeverityInfo
		certificate = choose(ConditionCertificate, served, in.Certificate[0].Reason, in.Certificate[0].Reason, Messages(in.Certificate))
	}
	list = append(list, certificate)
	list = append(list, deploymentConditions(in)...)
	list = append(list, loadBalancerConditions(in)...)
	list = append(list, passthroughConditions(in)...)
	list = append(list, keepAliveConditions(in.IC, in.LoadBalancer, in.Settings.Dialect)...)
	list = append(list, evaluationCondition(in))
	list = append(list, canaryConditions(in)...)
	return append(list, dnsConditions(in)...)
}
