package operator

import (
	"fmt"
	"net/netip"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// conditionEvaluation tells of something that works and is to be done in another
// way, as on OpenShift.
const conditionEvaluation = "EvaluationConditionsDetected"

// annotatedRanges reads the annotation by which the load-balancer Service said
// who may connect before IngressControllers had a field for that.
func annotatedRanges(service *corev1.Service) ([]string, error) {
	if service == nil {
		return nil, nil
	}
	var ranges []string
	for text := range strings.SplitSeq(service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey], ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if _, err := netip.ParsePrefix(text); err != nil {
			return nil, fmt.Errorf("%q is no range of addresses such as 198.18.0.0/16", text)
		}
		ranges = append(ranges, text)
	}
	return ranges, nil
}

// rangedService limits the Service to the ranges of its annotation where the
// IngressController names none. If the annotation cannot be read, whoever could
// not connect still cannot.
func rangedService(desired, live *corev1.Service) {
	if live == nil || len(desired.Spec.LoadBalancerSourceRanges) > 0 {
		return
	}
	ranges, err := annotatedRanges(live)
	if err != nil {
		ranges = live.Spec.LoadBalancerSourceRanges
	}
	desired.Spec.LoadBalancerSourceRanges = ranges
}

// withoutRangesAnnotation takes the annotation away that the field has replaced.
func withoutRangesAnnotation(updated *corev1.Service, s settings) bool {
	_, there := updated.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !there || len(s.sourceRanges) == 0 {
		return false
	}
	delete(updated.Annotations, corev1.AnnotationLoadBalancerSourceRangesKey)
	return true
}

// evaluationCondition says that the annotation is obeyed, and what to write
// instead.
func evaluationCondition(in statusInput) condition {
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	if in.s.strategy.Type != operatorv1.LoadBalancerServiceStrategyType || in.loadBalancer == nil ||
		in.loadBalancer.Annotations[key] == "" || len(in.s.sourceRanges) > 0 {
		return isFalse(conditionEvaluation, "NoEvaluationCondition", "")
	}
	const remedy = "set spec.endpointPublishingStrategy.loadBalancer.allowedSourceRanges of the IngressController to these ranges; the annotation then goes by itself"
	if _, err := annotatedRanges(in.loadBalancer); err != nil {
		return isTrue(conditionEvaluation, api.ReasonSourceRangesAnnotation, fmt.Sprintf(
			"The annotation %s of Service %s cannot be used: %v. The ranges that were used last hold (%s). Correct it, or %s",
			key, in.loadBalancer.Name, err, commas(in.loadBalancer.Spec.LoadBalancerSourceRanges), remedy))
	}
	return isTrue(conditionEvaluation, api.ReasonSourceRangesAnnotation, fmt.Sprintf(
		"The annotation %s of Service %s limits who may connect to %s. It is kept for what was made before the field was there: %s",
		key, in.loadBalancer.Name, in.loadBalancer.Annotations[key], remedy))
}
