package preflight

import (
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fairlead/fairlead/api"
)

// Source is something that is read from a cluster, in words for a note.
type Source string

// The sources.
const (
	SourceVersion        Source = "the version of Kubernetes"
	SourcePolicyKinds    Source = "the kinds of admission policies"
	SourceKinds          Source = "CustomResourceDefinitions"
	SourceRouteAPI       Source = "APIService v1.route.openshift.io"
	SourceNamespaces     Source = "Fairlead's namespaces"
	SourcePods           Source = "pods of all namespaces"
	SourceServices       Source = "Services of all namespaces"
	SourceWorkloads      Source = "Deployments and DaemonSets of all namespaces"
	SourceClasses        Source = "IngressClasses"
	SourceGatewayClasses Source = "GatewayClasses"
	SourceControllers    Source = "IngressControllers"
	SourceWebhooks       Source = "webhook configurations"
	SourceEndpoints      Source = "endpoints of webhooks"
	SourceRights         Source = "your rights"
)

// Facts are what a cluster had when it was read.
type Facts struct {
	// Gaps are the sources that could not be read, with the reason.
	Gaps map[Source]string

	// Kubernetes is its version, such as "v1.36.3".
	Kubernetes string
	// PolicyKinds are the resources of admissionregistration.k8s.io/v1.
	PolicyKinds []string
	// Wanted are the kinds that Fairlead installs.
	Wanted []apiextensionsv1.CustomResourceDefinition
	// Kinds are the definitions of the cluster that matter: those of Wanted, and those of the
	// Gateway API, by name.
	Kinds map[string]*apiextensionsv1.CustomResourceDefinition
	// KindNames are the names of all definitions.
	KindNames []string
	// RouteAPI is the Service, as "namespace/name", that answers for Routes in place of the
	// API server; empty if there is none.
	RouteAPI string

	Namespaces []corev1.Namespace
	// Pods are those with ports of their nodes.
	Pods        []corev1.Pod
	Services    []corev1.Service
	Deployments []appsv1.Deployment
	DaemonSets  []appsv1.DaemonSet
	// OtherMetalLB are workloads of another MetalLB.
	OtherMetalLB []string

	Controllers    []operatorv1.IngressController
	Classes        []networkingv1.IngressClass
	GatewayClasses []GatewayClass

	Webhooks []Webhook
	// ReadyServices are those, of the Services that webhooks name, that have a ready pod.
	ReadyServices []string

	// Denied are the rights that the user lacks.
	Denied []Right
}

// GatewayClass is one, with the program that serves it.
type GatewayClass struct{ Name, Controller string }

// Webhook is one of a ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
type Webhook struct {
	// Configuration is "kind/name", as users type it.
	Configuration string
	admissionv1.ValidatingWebhook
}

// Right is what a user has to have for an installation.
type Right struct {
	Group, Resource, Verb string
	// Namespace is empty for objects without one.
	Namespace string
}

// gap says why something is not known, "" if all of it is.
func (f *Facts) gap(sources ...Source) string {
	for _, source := range sources {
		if why := f.Gaps[source]; why != "" {
			return string(source) + " could not be read: " + why
		}
	}
	return ""
}

// notes are one line for each source that could not be read.
func (f *Facts) notes() []string {
	all := []string{}
	for _, source := range slices.Sorted(maps.Keys(f.Gaps)) {
		all = append(all, f.gap(source))
	}
	return all
}

// Namespaces are those of the installation.
func Namespaces() []string {
	return []string{api.OperatorNamespace, api.OperandNamespace, api.CanaryNamespace, api.ConfigNamespace, api.ProviderNamespace}
}

// namespace returns the one of that name, nil if there is none.
func (f *Facts) namespace(name string) *corev1.Namespace {
	for i := range f.Namespaces {
		if f.Namespaces[i].Name == name {
			return &f.Namespaces[i]
		}
	}
	return nil
}
