// Package service decides about the Services of an IngressController: the one that
// gets an address, the one with node ports, and the one within the cluster.
package service

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// annotationLocalWithFallback asks network plug-ins that know it to use
// routers on other nodes where a node has no router.
const annotationLocalWithFallback = "traffic-policy.network.alpha.openshift.io/local-with-fallback"

// portMetrics is the name of the port with health, metrics and statistics.
const portMetrics = "metrics"

// DesiredInternal returns the Service within the cluster.
func DesiredInternal(s effective.Spec) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: child.Meta(s.Name, api.InternalServiceName(s.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: pod.Labels(s.Name),
			Ports:    servicePorts(true),
		},
	}
}

// DesiredLoadBalancer returns the Service that gets an address, and whether the
// publishing strategy wants one. Its traffic policy is Local: routers see the
// address of the client, and no second node is on the way. Live is the Service as
// it is, nil if there is none: what an administrator annotated there wins.
func DesiredLoadBalancer(s effective.Spec, ic *operatorv1.IngressController, live *corev1.Service) (*corev1.Service, bool) {
	service := outsideService(s, api.RouterName(s.Name), corev1.ServiceTypeLoadBalancer, servicePorts(false))
	service.Spec.LoadBalancerSourceRanges = s.SourceRanges
	withRanges(service, live)
	forCloud(service, live, ic, s)
	withName(service, live, s)
	return service, s.Strategy.Type == operatorv1.LoadBalancerServiceStrategyType
}

// DesiredNodePort returns the Service with ports on every node, and
// whether the publishing strategy wants one. Metrics and statistics are not open
// there.
func DesiredNodePort(s effective.Spec) (*corev1.Service, bool) {
	service := outsideService(s, api.NodePortServiceName(s.Name), corev1.ServiceTypeNodePort, servicePorts(false))
	return service, s.Strategy.Type == operatorv1.NodePortServiceStrategyType
}

func outsideService(s effective.Spec, name string, t corev1.ServiceType, p []corev1.ServicePort) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: child.Meta(s.Name, name),
		Spec: corev1.ServiceSpec{
			Type:                  t,
			Selector:              pod.Labels(s.Name),
			Ports:                 p,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		},
	}
	service.Labels["app"] = "router"
	service.Labels["router"] = name
	service.Annotations = map[string]string{
		annotationLocalWithFallback: "",
		// Speakers announce the address only where a router says that it serves.
		api.AnnotationProbe: fmt.Sprintf(":%d/healthz/ready", s.Ports.Stats),
	}
	return service
}

func servicePorts(metrics bool) []corev1.ServicePort {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromString(name)}
	}
	list := []corev1.ServicePort{port("http", effective.DefaultHTTPPort), port("https", effective.DefaultHTTPSPort)}
	if metrics {
		list = append(list, port(portMetrics, effective.DefaultStatsPort))
	}
	return list
}
