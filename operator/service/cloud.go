package service

import (
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/operator/effective"
)

// forCloud makes the desired Service one for the cloud hook. What an
// administrator annotated himself wins.
func forCloud(desired, live *corev1.Service, ic *operatorv1.IngressController, s effective.Spec) {
	if s.CloudClass == "" {
		return
	}
	class := s.CloudClass
	desired.Spec.LoadBalancerClass = &class
	wanted := map[string]string{api.AnnotationDomain: s.Domain}
	if _, ok := ic.Annotations[api.AnnotationAutoDeleteLoadBalancer]; ok {
		wanted[api.AnnotationRecreateLoadBalancer] = "true"
	}
	maps.Copy(wanted, s.Dialect.Annotations(s.Wish()))
	annotate(desired, live, wanted)
}

// CloudServed reports whether a cloud hook serves the Service: by its class, or
// because it serves those without one.
func CloudServed(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	if class == nil {
		return slices.Contains(service.Finalizers, api.FinalizerCloudLoadBalancer)
	}
	return api.CloudClass(*class)
}

// CloudFront returns what clients and routers meet at the load balancer of a
// cloud; nothing where no cloud serves the Service, which may be nil.
func CloudFront(service *corev1.Service, dialect hook.Dialect) hook.Front {
	if service == nil || !CloudServed(service) {
		return hook.Front{}
	}
	return dialect.Front(service.Annotations)
}

// EffectiveGroups are the security groups that a Service, which may be nil, asks for.
func EffectiveGroups(service *corev1.Service, dialect hook.Dialect) []string {
	if service == nil {
		return nil
	}
	return dialect.Front(service.Annotations).SecurityGroups
}
