package check

import (
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/inspect"
)

// Source is something that is read from a cluster, in words for a note.
type Source string

// The sources.
const (
	SourceKinds               Source = "the kinds of the API server"
	SourceVersion             Source = "the version of Kubernetes"
	SourceOperatorDeployments Source = "Deployments of namespace " + api.OperatorNamespace
	SourceOperatorPods        Source = "pods of namespace " + api.OperatorNamespace
	SourceOperatorLeases      Source = "Leases of namespace " + api.OperatorNamespace
	SourceControllers         Source = "IngressControllers"
	SourceDeployments         Source = "Deployments of namespace " + api.OperandNamespace
	SourcePods                Source = "pods of namespace " + api.OperandNamespace
	SourceLeases              Source = "Leases of namespace " + api.OperandNamespace
	SourceEvents              Source = "events of namespace " + api.OperandNamespace
	SourceServices            Source = "Services"
	SourceRoutes              Source = "Routes"
	SourceIngresses           Source = "Ingresses"
	SourceClasses             Source = "IngressClasses"
	SourceSecrets             Source = "Secrets with certificates" //nolint:gosec // G101: words, no credentials
	SourceNodes               Source = "nodes"
	SourceSpeakers            Source = "DaemonSets of namespace " + api.ProviderNamespace
	SourceSpeakerPods         Source = "pods of namespace " + api.ProviderNamespace
	SourcePools               Source = "IPAddressPools"
	SourceL2                  Source = "ServiceL2Statuses"
	SourceBGP                 Source = "ServiceBGPStatuses"
	SourceAdvertisements      Source = "L2Advertisements"
	SourceSessions            Source = "BGPSessionStates"
	SourceStates              Source = "ConfigurationStates"
	SourceOtherMetalLB        Source = "Deployments and DaemonSets of all namespaces"
	SourcePolicies            Source = "ValidatingAdmissionPolicies"
	SourceReports             Source = "what the speakers report"
	SourceProbes              Source = "answers of the routers' addresses"
	SourceLookups             Source = "names of the routers' domains"
)

// Reading says how far a source was read. The zero value is all of it.
type Reading struct {
	// Why is why it could not be read.
	Why string
	// Only is the one namespace that was read of it.
	Only string
	// Some says that a part of it was read.
	Some bool
	// Skipped says that the user did not want it read.
	Skipped bool
}

func (r Reading) complete() bool { return r == Reading{} }

// partial says that a part was read, so that what is wrong in it is wrong.
func (r Reading) partial() bool { return r.Only != "" || r.Some }

// Kind is a kind of object that an installation has.
type Kind struct{ Group, Name string }

// Snapshot is what a cluster had when it was read.
type Snapshot struct {
	// Now is the time of the API server, Here that of this machine.
	Now, Here time.Time
	// Sources has those that were not read completely.
	Sources map[Source]Reading
	// Router is the only IngressController to judge; empty for all.
	Router string

	// Kinds are the kinds that the API server has not, of those that it needs.
	MissingKinds []Kind
	// Kubernetes is its version, such as "v1.36.3".
	Kubernetes string
	// Policies are the names of the ValidatingAdmissionPolicies.
	Policies []string

	OperatorDeployments []appsv1.Deployment
	OperatorPods        []corev1.Pod
	OperatorLeases      []coordinationv1.Lease

	Controllers []operatorv1.IngressController
	Deployments []appsv1.Deployment
	Pods        []corev1.Pod
	Leases      []coordinationv1.Lease
	Events      []corev1.Event
	Services    []corev1.Service
	Nodes       []corev1.Node

	Routes    []routev1.Route
	Ingresses []networkingv1.Ingress
	Classes   []networkingv1.IngressClass
	// Chains are PEM texts of certificates in Secrets, without keys, by
	// "namespace/name". A Secret that does not exist has an empty text.
	Chains map[string]string

	Speakers    []appsv1.DaemonSet
	SpeakerPods []corev1.Pod
	Pools       []v1beta1.IPAddressPool
	Sessions    []v1beta1.BGPSessionState
	States      []v1beta1.ConfigurationState
	// OtherMetalLB are workloads of another MetalLB.
	OtherMetalLB []string
	// Addresses say who announces what; Reported and Unreachable are the nodes
	// whose speakers were asked, with why one gave no answer.
	Addresses   []inspect.Answer
	Reported    []string
	Unreachable map[string]string

	Probes  []Probe
	Lookups []Lookup
	// Traffic is what the routers serve now, of those that could be asked. Nothing is judged by it.
	Traffic []Traffic

	chains []chain // by certificates
	parsed bool
}

// Probe is a request to a router's address from this machine.
type Probe struct {
	Target
	// Status is that of the answer, 0 if there was none, for the reason in Error.
	Status int
	Took   time.Duration
	Error  string
}

// Traffic is what the replicas of a router serve.
type Traffic struct {
	Router string
	// Requests are those of a second, and ErrorPercent the share of them that was answered by 5xx.
	Requests, ErrorPercent float64
	// Connections are requests and connections that are under way.
	Connections float64
	// Replicas are those that were asked, and Silent those that gave no answer.
	Replicas, Silent int
}

// Lookup is the question for a name in the DNS of this machine.
type Lookup struct {
	Name
	Addresses []string
	// NotFound says that the name does not exist. Error is why there was no answer.
	NotFound bool
	Error    string
}

// Narrow leaves what concerns one IngressController, and reports whether there is one of
// the name.
func (s *Snapshot) Narrow(router string) bool {
	s.Router = router
	s.Controllers = slices.DeleteFunc(s.Controllers, func(ic operatorv1.IngressController) bool { return ic.Name != router })
	owner := func(labels map[string]string) bool { return labels[api.LabelOwningIngressController] != router }
	s.Deployments = slices.DeleteFunc(s.Deployments, func(d appsv1.Deployment) bool { return owner(d.Labels) })
	s.Pods = slices.DeleteFunc(s.Pods, func(p corev1.Pod) bool { return p.Labels[api.LabelDeploymentIngressController] != router })
	s.Services = slices.DeleteFunc(s.Services, func(v corev1.Service) bool { return owner(v.Labels) })
	s.Addresses = slices.DeleteFunc(s.Addresses, func(a inspect.Answer) bool {
		return a.Service != api.OperandNamespace+"/"+api.RouterName(router)
	})
	return len(s.Controllers) > 0 || !s.Sources[SourceControllers].complete()
}

// deployment returns the Deployment of an IngressController, nil if there is none.
func (s *Snapshot) deployment(ic string) *appsv1.Deployment {
	for i := range s.Deployments {
		if s.Deployments[i].Name == api.RouterName(ic) {
			return &s.Deployments[i]
		}
	}
	return nil
}

// podsOf returns the router pods of an IngressController that are not about to end.
func (s *Snapshot) podsOf(ic string) []corev1.Pod {
	var own []corev1.Pod
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Labels[api.LabelDeploymentIngressController] == ic && p.DeletionTimestamp == nil {
			own = append(own, *p)
		}
	}
	return own
}

// service returns the load-balancer Service of an IngressController, nil if there is none.
func (s *Snapshot) service(ic string) *corev1.Service {
	for i := range s.Services {
		if v := &s.Services[i]; v.Namespace == api.OperandNamespace && v.Name == api.RouterName(ic) {
			return v
		}
	}
	return nil
}

// notes are one line for each source that was not read completely.
func (s *Snapshot) notes() []string {
	var all []string
	for _, source := range slices.Sorted(maps.Keys(s.Sources)) {
		if why := s.gap(source); why != "" && !s.Sources[source].Skipped {
			all = append(all, why)
		}
	}
	return all
}

// gap says what is not known of a source, "" if all of it is.
func (s *Snapshot) gap(source Source) string {
	switch r := s.Sources[source]; {
	case r.complete():
		return ""
	case r.Only != "":
		return string(source) + ": only those of namespace " + r.Only + " were read: " + r.Why
	case r.Some:
		return string(source) + " could not be read completely: " + r.Why
	default:
		return string(source) + " could not be read: " + r.Why
	}
}

func condition(ic *operatorv1.IngressController, kind string) *operatorv1.OperatorCondition {
	for i := range ic.Status.Conditions {
		if ic.Status.Conditions[i].Type == kind {
			return &ic.Status.Conditions[i]
		}
	}
	return nil
}
