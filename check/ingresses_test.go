package check

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
)

func ingressRulings() map[string]ruling {
	class := func(name *string) scene {
		return func(_ *testing.T, s *Snapshot) {
			s.Ingresses[0].Spec.IngressClassName = name
			s.Routes = s.Routes[:2]
		}
	}
	marked := func(_ *testing.T, s *Snapshot) {
		for _, name := range []string{"a", "b"} {
			c := networkingv1.IngressClass{ObjectMeta: meta("", name)}
			c.Annotations = map[string]string{defaultClass: "true"}
			s.Classes = append(s.Classes, c)
		}
	}
	parameters := func(name string) scene {
		return func(_ *testing.T, s *Snapshot) {
			s.Classes[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new("operator.openshift.io"), Kind: "IngressController", Name: name}
		}
	}
	port := func(name string) scene {
		return func(_ *testing.T, s *Snapshot) { s.Routes[2].Spec.Port.TargetPort = intstr.FromString(name) }
	}
	return map[string]ruling{
		"FL501": {class(new("openshift-default")), Warn, "ingress web/cart is of a class of Fairlead, and no Route was made of it", class(new("nginx"))},
		"FL502": {class(new("ngin")), Warn, "names class ngin, which does not exist", class(nil)},
		"FL503": {
			class(nil), Warn, "names no class",
			func(t *testing.T, s *Snapshot) {
				class(nil)(t, s)
				s.Ingresses[0].Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
			},
		},
		"FL504": {marked, Warn, "a, b are all marked", func(t *testing.T, s *Snapshot) { marked(t, s); s.Classes = s.Classes[:2] }},
		"FL505": {parameters("internal"), Warn, "IngressController internal, which does not exist", parameters("default")},
		"FL506": {port(api.ClosedPort), Warn, "is closed", port("http")},
	}
}

func capacityRulings() map[string]ruling {
	pool := func(used, free int64) scene {
		return func(_ *testing.T, s *Snapshot) {
			s.Pools[0].Status.AssignedIPv4, s.Pools[0].Status.AvailableIPv4 = used, free
		}
	}
	return map[string]ruling{
		"FL701": {pool(47, 4), Warn, "47 of 51 IPv4 addresses are in use", pool(2, 1)},
		"FL702": {terminated(1, time.Hour, "OOMKilled"), Warn, "reached its memory limit", terminated(1, 48*time.Hour, "OOMKilled")},
		"FL703": {
			func(_ *testing.T, s *Snapshot) {
				s.Nodes[0].Status.Conditions = append(s.Nodes[0].Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
			}, Warn, "DiskPressure",
			func(_ *testing.T, s *Snapshot) {
				s.Nodes[0].Status.Conditions = append(s.Nodes[0].Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse})
			},
		},
		"FL704": {
			replicas(1, 1), Warn, "spec.replicas is 1",
			func(t *testing.T, s *Snapshot) { replicas(1, 1)(t, s); s.Nodes = s.Nodes[:1] },
		},
	}
}
