package status

import (
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/service"
)

// ConditionEvaluation is about something that works and is to be done in another
// way, as on OpenShift.
const ConditionEvaluation = "EvaluationConditionsDetected"

// evaluationCondition says that the annotation is obeyed, and what to write
// instead.
func evaluationCondition(in Input) condition {
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	if in.Settings.Strategy.Type != operatorv1.LoadBalancerServiceStrategyType || in.LoadBalancer == nil ||
		in.LoadBalancer.Annotations[key] == "" || len(in.Settings.SourceRanges) > 0 {
		return isFalse(ConditionEvaluation, "NoEvaluationCondition", "")
	}
	const remedy = "set spec.endpointPublishingStrategy.loadBalancer.allowedSourceRanges of the IngressController to these ranges; the annotation then goes by itself"
	if _, err := service.AnnotatedRanges(in.LoadBalancer); err != nil {
		return isTrue(ConditionEvaluation, api.ReasonSourceRangesAnnotation, fmt.Sprintf(
			"The annotation %s of Service %s cannot be used: %v. The ranges that were used last hold (%s). Correct it, or %s",
			key, in.LoadBalancer.Name, err, strings.Join(in.LoadBalancer.Spec.LoadBalancerSourceRanges, ","), remedy))
	}
	return isTrue(ConditionEvaluation, api.ReasonSourceRangesAnnotation, fmt.Sprintf(
		"The annotation %s of Service %s limits the source addresses that may connect to %s. It is kept for Services older than the field: %s",
		key, in.LoadBalancer.Name, in.LoadBalancer.Annotations[key], remedy))
}
