package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/inspect"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const address = "198.18.0.200"

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour))}
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func deployment(namespace, name, image string) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: meta(namespace, name)}
	d.Spec.Replicas = new(int32(2))
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	d.Status.ReadyReplicas, d.Status.Replicas = 2, 2
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue},
	}
	return d
}

func pod(namespace, name, node string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: meta(namespace, name)}
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true}}
	return p
}

func lease(namespace, name, holder string) coordinationv1.Lease {
	l := coordinationv1.Lease{ObjectMeta: meta(namespace, name)}
	renewed := metav1.NewMicroTime(now.Add(-2 * time.Second))
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}
	return l
}

// set gives an IngressController a condition.
func set(ic *operatorv1.IngressController, kind string, status operatorv1.ConditionStatus, reason, message string) {
	c := operatorv1.OperatorCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
	if old := condition(ic, kind); old != nil {
		*old = c
		return
	}
	ic.Status.Conditions = append(ic.Status.Conditions, c)
}

func controller() operatorv1.IngressController {
	ic := operatorv1.IngressController{ObjectMeta: meta(api.OperatorNamespace, "default")}
	ic.Generation, ic.Status.ObservedGeneration = 3, 3
	ic.Status.Domain, ic.Status.EffectiveHAProxyVersion = "apps.example.com", "3.4"
	ic.Status.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType}
	for _, kind := range []string{"Admitted", "Available", "ObjectsReconciled", api.ConditionSettingsApplied, "DefaultCertificateReady", "LoadBalancerManaged", "LoadBalancerReady", "CanaryChecksSucceeding"} {
		set(&ic, kind, operatorv1.ConditionTrue, "AsExpected", "")
	}
	for _, kind := range []string{"Degraded", "Progressing", "DNSManaged"} {
		set(&ic, kind, operatorv1.ConditionFalse, "AsExpected", "")
	}
	return ic
}

func route(namespace, name, host string) routev1.Route {
	r := routev1.Route{ObjectMeta: meta(namespace, name)}
	r.Spec.Host, r.Spec.To = host, routev1.RouteTargetReference{Kind: "Service", Name: name}
	r.Status.Ingress = []routev1.RouteIngress{{
		Host: host, RouterName: "default", Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue}},
	}}
	return r
}

// said is the condition of a Route's first router.
func said(r *routev1.Route) *routev1.RouteIngressCondition { return &r.Status.Ingress[0].Conditions[0] }

func balancer(namespace, name string) corev1.Service {
	v := corev1.Service{ObjectMeta: meta(namespace, name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	return v
}

// healthy is a cluster with nothing wrong.
func healthy(t *testing.T) *Snapshot {
	t.Helper()
	s := &Snapshot{
		Now: now, Here: now, Sources: map[Source]Reading{}, Kubernetes: "v1.36.3", Policies: neededPolicies, Chains: map[string]string{},
		OperatorDeployments: []appsv1.Deployment{deployment(api.OperatorNamespace, operatorDeployment, "fairlead.dev/operator:1.4.0")},
		OperatorPods:        []corev1.Pod{pod(api.OperatorNamespace, "ingress-operator-a", "n1"), pod(api.OperatorNamespace, "ingress-operator-b", "n2")},
		OperatorLeases:      []coordinationv1.Lease{lease(api.OperatorNamespace, operatorLease, "ingress-operator-a_1234")},
		Controllers:         []operatorv1.IngressController{controller()},
		Deployments:         []appsv1.Deployment{deployment(api.OperandNamespace, "router-default", "fairlead.dev/router:1.4.0")},
		Leases:              []coordinationv1.Lease{lease(api.OperandNamespace, "router-default-status", "router-a")},
		Routes:              []routev1.Route{route("web", "shop", "www.example.com"), route(api.CanaryNamespace, "canary", "canary.apps.example.com")},
		Speakers:            []appsv1.DaemonSet{{ObjectMeta: meta(api.ProviderNamespace, speakerDaemonSet), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, NumberReady: 2}}},
		SpeakerPods:         []corev1.Pod{pod(api.ProviderNamespace, "speaker-a", "n1"), pod(api.ProviderNamespace, "speaker-b", "n2")},
		Reported:            []string{"n1", "n2"}, Unreachable: map[string]string{},
		Addresses: []inspect.Answer{{Addresses: []string{address}, Service: "openshift-ingress/router-default", Pool: "office", Owner: "n2", Candidates: []string{"n2", "n1"}, Reported: []string{"n1", "n2"}}},
		Sessions:  []v1beta1.BGPSessionState{session("n1", "Established"), session("n2", "Established")},
		Pools:     []v1beta1.IPAddressPool{{ObjectMeta: meta(api.ProviderNamespace, "office"), Status: v1beta1.IPAddressPoolStatus{AssignedIPv4: 12, AvailableIPv4: 39}}},
		States:    []v1beta1.ConfigurationState{{ObjectMeta: meta(api.ProviderNamespace, "speaker-n1"), Status: v1beta1.ConfigurationStateStatus{Result: v1beta1.ConfigurationValid}}},
		Classes:   []networkingv1.IngressClass{{ObjectMeta: meta("", "openshift-default"), Spec: networkingv1.IngressClassSpec{Controller: api.IngressClassController}}},
	}
	for i, node := range []string{"n1", "n2"} {
		p := pod(api.OperandNamespace, "router-default-"+string('a'+rune(i)), node)
		p.Labels = map[string]string{api.LabelDeploymentIngressController: "default"}
		s.Pods = append(s.Pods, p)
		n := corev1.Node{ObjectMeta: meta("", node)}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		s.Nodes = append(s.Nodes, n)
	}
	v := balancer(api.OperandNamespace, "router-default")
	v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	s.Services = []corev1.Service{v}
	ca := newAuthority(t)
	s.Chains["openshift-ingress/router-certs-default"] = ca.issue(t, leaf{names: []string{"*.apps.example.com"}})
	s.Routes[0].Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge, Certificate: ca.issue(t, leaf{names: []string{"www.example.com"}})}
	in := networkingv1.Ingress{ObjectMeta: meta("web", "cart"), Spec: networkingv1.IngressSpec{IngressClassName: new("openshift-default"), Rules: []networkingv1.IngressRule{{Host: "cart.example.com"}}}}
	s.Ingresses = []networkingv1.Ingress{in}
	made := route("web", "cart-x1", "cart.example.com")
	made.OwnerReferences = []metav1.OwnerReference{{Kind: "Ingress", Name: "cart", Controller: new(true)}}
	made.Spec.Port = &routev1.RoutePort{TargetPort: intstr.FromString("http")}
	s.Routes = append(s.Routes, made)
	for _, target := range s.Targets() {
		s.Probes = append(s.Probes, Probe{Target: target, Status: map[string]int{plain: 302, secure: 200}[target.Scheme], Took: 4 * time.Millisecond})
	}
	s.Traffic = []Traffic{{Router: "default", Requests: 1204.06, ErrorPercent: 0.02, Connections: 210, Replicas: 2}}
	for _, name := range s.Names() {
		s.Lookups = append(s.Lookups, Lookup{Name: name, Addresses: []string{address}})
	}
	return s
}

func session(node, state string) v1beta1.BGPSessionState {
	return v1beta1.BGPSessionState{ObjectMeta: meta(api.ProviderNamespace, "session-"+node), Status: v1beta1.BGPSessionStateStatus{Node: node, Peer: "tor", BGPStatus: state, BFDStatus: "Up"}}
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// leaf is what differs between certificates of tests.
type leaf struct {
	names     []string
	from, end time.Time
	published bool // says where its issuer is to be had
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(9, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) issue(t *testing.T, l leaf) string {
	t.Helper()
	of := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, DNSNames: l.names, NotBefore: l.from, NotAfter: l.end}
	if l.from.IsZero() {
		of.NotBefore = now.AddDate(0, -1, 0)
	}
	if l.end.IsZero() {
		of.NotAfter = now.AddDate(0, 6, 0)
	}
	if l.published {
		of.IssuingCertificateURL = []string{"http://ca.example.com/ca.crt"}
	}
	der, err := x509.CreateCertificate(rand.Reader, of, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return text(der)
}

func text(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
