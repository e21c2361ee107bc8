package service

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/effective"
)

// AnnotatedRanges reads the annotation by which the load-balancer Service said
// who may connect before IngressControllers had a field for that.
func AnnotatedRanges(service *corev1.Service) ([]string, error) {
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

// withRanges limits the Service to the ranges of its annotation where the
// IngressController names none. If the annotation cannot be read, clients that could
// not connect still cannot.
func withRanges(desired, live *corev1.Service) {
	if live == nil || len(desired.Spec.LoadBalancerSourceRanges) > 0 {
		return
	}
	ranges, err := AnnotatedRanges(live)
	if err != nil {
		ranges = live.Spec.LoadBalancerSourceRanges
	}
	desired.Spec.LoadBalancerSourceRanges = ranges
}

// withoutRangesAnnotation takes the annotation away that the field has replaced.
func withoutRangesAnnotation(updated *corev1.Service, s effective.Spec) bool {
	_, there := updated.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !there || len(s.SourceRanges) == 0 {
		return false
	}
	delete(updated.Annotations, corev1.AnnotationLoadBalancerSourceRangesKey)
	return true
}
