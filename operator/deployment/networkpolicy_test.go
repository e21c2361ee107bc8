package deployment

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/test/build/defaults"
)

// TestNetworkPolicies: all of our namespaces are closed, and routers open by the
// names of ports that their pods have.
func TestNetworkPolicies(t *testing.T) {
	t.Parallel()
	policies := map[string]*networkingv1.NetworkPolicy{}
	for _, p := range readPolicies(t) {
		policies[p.Namespace+"/"+p.Name] = p
	}
	for _, namespace := range []string{"openshift-ingress", "openshift-ingress-operator", "openshift-ingress-canary", "metallb-system"} {
		closed := policies[namespace+"/closed"]
		if closed == nil || len(closed.Spec.PodSelector.MatchLabels)+len(closed.Spec.PodSelector.MatchExpressions)+len(closed.Spec.Ingress) > 0 {
			t.Errorf("namespace %s is not closed", namespace)
		}
	}
	opens(t, policies["openshift-ingress/routers"], Desired(defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2)).Spec.Template)
	opens(t, policies["openshift-ingress-canary/ingress-canary"], canary.DesiredDaemonSet("operator:1").Spec.Template)
}

// TestGatewayPorts: all blocks of ports for Gateways are open at their largest, and no others.
func TestGatewayPorts(t *testing.T) {
	t.Parallel()
	for _, p := range readPolicies(t) {
		if p.Name != "router-gateways" {
			continue
		}
		var opened []gateway.Block
		for _, port := range p.Spec.Ingress[0].Ports {
			b, _ := gateway.BlockOf(port.Port.IntVal)
			if b.First != port.Port.IntVal || b.First+b.Most-1 != *port.EndPort {
				t.Errorf("ports %d to %d are no block", port.Port.IntVal, *port.EndPort)
			}
			if (*port.Protocol == corev1.ProtocolUDP) != (b == gateway.UDP) {
				t.Errorf("block %s is open for %s", b.Name, *port.Protocol)
			}
			opened = append(opened, b)
		}
		if !slices.Equal(opened, gateway.Blocks()) {
			t.Errorf("opened %v, blocks %v", opened, gateway.Blocks())
		}
		return
	}
	t.Error("no policy opens the ports of Gateways")
}

// opens: the policy selects the pods, and opens the ports that they have.
func opens(t *testing.T, policy *networkingv1.NetworkPolicy, pod corev1.PodTemplateSpec) {
	t.Helper()
	if policy == nil {
		t.Fatal("no policy")
	}
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the policy %s does not select its pods: %v", policy.Name, err)
	}
	var opened []string
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			opened = append(opened, port.Port.StrVal)
		}
	}
	var has []string
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			has = append(has, port.Name)
		}
	}
	slices.Sort(opened)
	slices.Sort(has)
	if !slices.Equal(opened, has) {
		t.Errorf("the policy %s opens %v, the pods have %v", policy.Name, opened, has)
	}
}

func readPolicies(t *testing.T) (policies []*networkingv1.NetworkPolicy) {
	t.Helper()
	text, err := os.ReadFile("../../config/network-policies/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for docs := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return policies
		}
		p := &networkingv1.NetworkPolicy{}
		if err == nil {
			err = yaml.UnmarshalStrict(doc, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
}
