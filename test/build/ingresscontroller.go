// Package build makes objects for tests.
package build

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSController returns an IngressController behind a network load balancer of AWS.
func AWSController(change func(*operatorv1.LoadBalancerStrategy)) *operatorv1.IngressController {
	lb := &operatorv1.LoadBalancerStrategy{
		Scope:              operatorv1.ExternalLoadBalancer,
		ProviderParameters: &operatorv1.ProviderLoadBalancerParameters{Type: operatorv1.AWSLoadBalancerProvider, AWS: &operatorv1.AWSLoadBalancerParameters{Type: operatorv1.AWSNetworkLoadBalancer}},
	}
	if change != nil {
		change(lb)
	}
	return IngressController(Strategy(operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType, LoadBalancer: lb}))
}

// IngressController returns an IngressController named "a", edited.
func IngressController(edits ...func(*operatorv1.IngressController)) *operatorv1.IngressController {
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "a"}}
	for _, edit := range edits {
		edit(ic)
	}
	return ic
}

// Strategy sets how an IngressController is published.
func Strategy(s operatorv1.EndpointPublishingStrategy) func(*operatorv1.IngressController) {
	return func(ic *operatorv1.IngressController) { ic.Spec.EndpointPublishingStrategy = &s }
}

// Node returns a Linux node with taints.
func Node(name string, taints ...corev1.Taint) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}
