package operator

import (
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
)

// annotationLocalWithFallback asks network plug-ins that know it to use
// routers on other nodes where a node has none of its own.
const annotationLocalWithFallback = "traffic-policy.network.alpha.openshift.io/local-with-fallback"

// portMetrics is the name of the port with health, metrics and statistics.
const portMetrics = "metrics"

// desiredInternalService returns the Service within the cluster.
func desiredInternalService(s settings) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: childMeta(s.name, api.InternalServiceName(s.name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: podLabels(s.name),
			Ports:    servicePorts(true),
		},
	}
}

// desiredLoadBalancerService returns the Service that gets an address, and
// whether the publishing strategy wants one. Its traffic policy is Local:
// routers see the address of the client, and no second node is on the way.
func desiredLoadBalancerService(s settings) (*corev1.Service, bool) {
	service := outsideService(s, api.RouterName(s.name), corev1.ServiceTypeLoadBalancer, servicePorts(false))
	service.Spec.LoadBalancerSourceRanges = s.sourceRanges
	return service, s.strategy.Type == operatorv1.LoadBalancerServiceStrategyType
}

// desiredNodePortService returns the Service with ports on every node, and
// whether the publishing strategy wants one. Metrics and statistics are not open
// there.
func desiredNodePortService(s settings) (*corev1.Service, bool) {
	service := outsideService(s, api.NodePortServiceName(s.name), corev1.ServiceTypeNodePort, servicePorts(false))
	return service, s.strategy.Type == operatorv1.NodePortServiceStrategyType
}

func outsideService(s settings, name string, t corev1.ServiceType, p []corev1.ServicePort) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: childMeta(s.name, name),
		Spec: corev1.ServiceSpec{
			Type:                  t,
			Selector:              podLabels(s.name),
			Ports:                 p,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		},
	}
	service.Labels["app"] = "router"
	service.Labels["router"] = name
	service.Annotations = map[string]string{
		annotationLocalWithFallback: "",
		// Speakers announce the address only where a router says that it serves.
		api.AnnotationProbe: fmt.Sprintf(":%d/healthz/ready", s.ports.stats),
	}
	return service
}

func servicePorts(metrics bool) []corev1.ServicePort {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromString(name)}
	}
	list := []corev1.ServicePort{port("http", defaultHTTPPort), port("https", defaultHTTPSPort)}
	if metrics {
		list = append(list, port(portMetrics, defaultStatsPort))
	}
	return list
}

// changedService returns the live Service brought in line with the desired
// one, and whether that changes anything. What the API server allocated (IPs,
// node ports, the health check port, IP families) stays.
func changedService(live, desired *corev1.Service) (*corev1.Service, bool) {
	updated := live.DeepCopy()
	changed := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	want, have := &desired.Spec, &updated.Spec
	if have.Type != want.Type {
		have.Type, changed = want.Type, true
	}
	if have.SessionAffinity != "" && have.SessionAffinity != corev1.ServiceAffinityNone {
		// It would bind many clients behind one address to one router.
		have.SessionAffinity, have.SessionAffinityConfig, changed = corev1.ServiceAffinityNone, nil, true
	}
	if p := have.InternalTrafficPolicy; p != nil && *p != corev1.ServiceInternalTrafficPolicyCluster {
		have.InternalTrafficPolicy, changed = new(corev1.ServiceInternalTrafficPolicyCluster), true
	}
	if want.ExternalTrafficPolicy != "" && have.ExternalTrafficPolicy != want.ExternalTrafficPolicy {
		have.ExternalTrafficPolicy, changed = want.ExternalTrafficPolicy, true
	}
	if !slices.Equal(have.LoadBalancerSourceRanges, want.LoadBalancerSourceRanges) {
		have.LoadBalancerSourceRanges, changed = want.LoadBalancerSourceRanges, true
	}
	if !equalLabels(have.Selector, want.Selector) {
		have.Selector, changed = want.Selector, true
	}
	if have.PublishNotReadyAddresses {
		have.PublishNotReadyAddresses, changed = false, true
	}
	ports := slices.Clone(want.Ports)
	for i := range ports {
		for _, p := range have.Ports {
			if p.Name == ports[i].Name {
				ports[i].NodePort = p.NodePort
			}
		}
	}
	if !slices.Equal(have.Ports, ports) {
		have.Ports, changed = ports, true
	}
	return updated, changed
}

func equalLabels(a, b map[string]string) bool {
	return len(a) == len(b) && matchesLabels(a, b)
}
