package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ingressController returns an IngressController named "a", edited.
func ingressController(edits ...func(*operatorv1.IngressController)) *operatorv1.IngressController {
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "a"}}
	for _, edit := range edits {
		edit(ic)
	}
	return ic
}

func withStrategy(s operatorv1.EndpointPublishingStrategy) func(*operatorv1.IngressController) {
	return func(ic *operatorv1.IngressController) { ic.Spec.EndpointPublishingStrategy = &s }
}

func node(name string, taints ...corev1.Taint) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	controlPlane := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name  string
		nodes []corev1.Node
		edit  func(*operatorv1.IngressController)
		want  int32
	}{
		{name: "one node", nodes: []corev1.Node{node("n1")}, want: 1},
		{name: "two nodes", nodes: []corev1.Node{node("n1"), node("n2")}, want: 2},
		{name: "no node yet", want: 2},
		{name: "one worker beside the control plane", nodes: []corev1.Node{node("cp", controlPlane), node("n1")}, want: 1},
		{name: "a cordon passes", nodes: []corev1.Node{node("n1", cordon), node("n2")}, want: 2},
		{
			name: "tolerated control plane", nodes: []corev1.Node{node("cp", controlPlane), node("n1")}, want: 2,
			edit: func(ic *operatorv1.IngressController) {
				ic.Spec.NodePlacement = &operatorv1.NodePlacement{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
			},
		},
		{
			name: "zero is a wish", nodes: []corev1.Node{node("n1")}, want: 0,
			edit: func(ic *operatorv1.IngressController) { ic.Spec.Replicas = new(int32(0)) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := ingressController()
			if test.edit != nil {
				test.edit(ic)
			}
			if got := settingsOf(ic, cluster{nodes: test.nodes}, Options{}).replicas; got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestStrategy(t *testing.T) {
	t.Parallel()
	hostNetwork := operatorv1.EndpointPublishingStrategy{
		Type:        operatorv1.HostNetworkStrategyType,
		HostNetwork: &operatorv1.HostNetworkStrategy{Protocol: operatorv1.TCPProtocol, HTTPPort: 80, HTTPSPort: 443, StatsPort: 1936},
	}
	balanced := operatorv1.EndpointPublishingStrategy{
		Type: operatorv1.LoadBalancerServiceStrategyType,
		LoadBalancer: &operatorv1.LoadBalancerStrategy{
			Scope: operatorv1.ExternalLoadBalancer, DNSManagementPolicy: operatorv1.ManagedLoadBalancerDNS,
		},
	}
	moved := hostNetwork.DeepCopy()
	moved.HostNetwork.HTTPPort = 8080
	tests := []struct {
		name     string
		ic       *operatorv1.IngressController
		provider bool
		want     operatorv1.EndpointPublishingStrategy
	}{
		{name: "nothing assigns addresses", ic: ingressController(), want: hostNetwork},
		{name: "our provider is installed", ic: ingressController(), provider: true, want: balanced},
		{
			name: "the type in use stays", provider: true, want: hostNetwork,
			ic: ingressController(func(ic *operatorv1.IngressController) { ic.Status.EndpointPublishingStrategy = hostNetwork.DeepCopy() }),
		},
		{
			name: "the parameters follow the wish", want: *moved,
			ic: ingressController(withStrategy(operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{HTTPPort: 8080},
			}), func(ic *operatorv1.IngressController) { ic.Status.EndpointPublishingStrategy = hostNetwork.DeepCopy() }),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := settingsOf(test.ic, cluster{provider: test.provider}, Options{}).strategy
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("strategy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	admittedOther := operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	admittedOther.Status.Domain = "apps.example.com"
	admittedOther.Status.Conditions = []operatorv1.OperatorCondition{{Type: conditionAdmitted, Status: operatorv1.ConditionTrue}}
	refusedOther := *admittedOther.DeepCopy()
	refusedOther.Status.Conditions[0].Status = operatorv1.ConditionFalse
	tests := []struct {
		name   string
		ic     *operatorv1.IngressController
		domain string
		others []operatorv1.IngressController
		want   []string // parts of the texts, one per fault
	}{
		{name: "well", ic: ingressController(), domain: "apps.example.com"},
		{name: "no domain", ic: ingressController(), want: []string{"spec.domain: domain is required"}},
		{name: "domain taken", ic: ingressController(), domain: "apps.example.com", others: []operatorv1.IngressController{admittedOther}, want: []string{"conflicts with: b"}},
		{name: "domain of a refused one", ic: ingressController(), domain: "apps.example.com", others: []operatorv1.IngressController{refusedOther}},
		{
			name: "several faults at once", domain: "apps.example.com",
			ic: ingressController(withStrategy(operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{HTTPPort: 443},
			}), func(ic *operatorv1.IngressController) {
				ic.Spec.TuningOptions.HeaderBufferBytes = 16384
				ic.Spec.TuningOptions.HeaderBufferMaxRewriteBytes = 16384
				ic.Spec.ClientTLS.AllowedSubjectPatterns = []string{"ok", "("}
				ic.Spec.NodePlacement = &operatorv1.NodePlacement{NodeSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}},
				}}
			}),
			want: []string{"spec.endpointPublishingStrategy.hostNetwork", "spec.nodePlacement", "spec.tuningOptions.headerBufferBytes", "spec.clientTLS.allowedSubjectPatterns[1]"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			faults := validate(test.ic, settingsOf(test.ic, cluster{}, Options{Domain: test.domain}), test.others)
			if len(faults) != len(test.want) {
				t.Fatalf("got %v, want %d faults", faults, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(faults[i].Text(), want) {
					t.Errorf("got %q, want %q in it", faults[i].Text(), want)
				}
			}
		})
	}
}
