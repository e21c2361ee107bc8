package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	operatorv1 "github.com/openshift/api/operator/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check/preflight"
	"github.com/fairlead/fairlead/config"
	"github.com/fairlead/fairlead/lbprovider/othermetallb"
)

// preflightReader collects what package preflight judges. Its methods may be called from
// several goroutines.
type preflightReader struct {
	client client.Client
	facts  *preflight.Facts

	mu sync.Mutex // guards facts.Gaps and facts.Denied
}

// Preflight reads what decides whether Fairlead can be installed or upgraded, as far as the
// user's rights go. It fails if the cluster does not answer.
func Preflight(ctx context.Context, restConfig *rest.Config) (*preflight.Facts, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst = 100, 200
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, admissionv1.AddToScheme,
		authorizationv1.AddToScheme, apiextensionsv1.AddToScheme, operatorv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", restConfig.Host, err)
	}
	wanted, err := config.Kinds()
	if err != nil {
		return nil, fmt.Errorf("read the kinds of this program: %w", err)
	}
	r := &preflightReader{client: c, facts: &preflight.Facts{
		Gaps: map[preflight.Source]string{}, Wanted: wanted, Kinds: map[string]*apiextensionsv1.CustomResourceDefinition{},
	}}
	if err := r.versions(restConfig); err != nil {
		return nil, err
	}
	together(ctx, append([]func(context.Context){r.kinds, r.routeAPI, r.namespaces, r.pods, r.metalLB, r.gatewayClasses, r.webhooks, r.rights}, r.lists()...))
	return r.facts, nil
}

// together runs functions, a few at a time.
func together(ctx context.Context, all []func(context.Context)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, 8)
	for _, f := range all {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			f(ctx)
		})
	}
	wg.Wait()
}

// gap notes that a source could not be read, and reports whether that is so. A kind that
// the API server has not has no objects.
func (r *preflightReader) gap(source preflight.Source, err error) bool {
	if err == nil || meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts.Gaps[source] = reason(err)
	return true
}

// versions reads the version of the API server, and which policies it serves.
func (r *preflightReader) versions(restConfig *rest.Config) error {
	d, err := discovery.NewDiscoveryClientForConfig(restConfig)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", restConfig.Host, err)
	}
	v, err := d.ServerVersion()
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return fmt.Errorf("ask cluster %s: %w", restConfig.Host, err)
	}
	if !r.gap(preflight.SourceVersion, err) {
		r.facts.Kubernetes = v.GitVersion
	}
	served, err := d.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if !r.gap(preflight.SourcePolicyKinds, err) && served != nil {
		for i := range served.APIResources {
			r.facts.PolicyKinds = append(r.facts.PolicyKinds, served.APIResources[i].Name)
		}
	}
	return nil
}

// kinds reads the names of all definitions, and in full those that matter.
func (r *preflightReader) kinds(ctx context.Context) {
	names, err := pages(ctx, r.client, kind[*metav1.PartialObjectMetadataList, metav1.PartialObjectMetadata]{
		empty: func() *metav1.PartialObjectMetadataList {
			l := &metav1.PartialObjectMetadataList{}
			l.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
			return l
		},
		items: func(l *metav1.PartialObjectMetadataList) []metav1.PartialObjectMetadata { return l.Items },
	})
	if r.gap(preflight.SourceKinds, err) {
		return
	}
	mine := func(name string) bool {
		return slices.ContainsFunc(r.facts.Wanted, func(k apiextensionsv1.CustomResourceDefinition) bool { return k.Name == name })
	}
	for i := range names {
		name := names[i].Name
		r.facts.KindNames = append(r.facts.KindNames, name)
		if !mine(name) && !strings.HasSuffix(name, ".gateway.networking.k8s.io") {
			continue
		}
		found := &apiextensionsv1.CustomResourceDefinition{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, found)
		if r.gap(preflight.SourceKinds, err) {
			return
		}
		if err == nil {
			r.facts.Kinds[name] = found
		}
	}
}

// routeAPI finds out whether another API server answers for Routes.
func (r *preflightReader) routeAPI(ctx context.Context) {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	if err := r.client.Get(ctx, client.ObjectKey{Name: "v1.route.openshift.io"}, service); err != nil {
		r.gap(preflight.SourceRouteAPI, err)
		return
	}
	namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace")
	name, found, _ := unstructured.NestedString(service.Object, "spec", "service", "name")
	if found {
		r.facts.RouteAPI = namespace + "/" + name
	}
}

func (r *preflightReader) namespaces(ctx context.Context) {
	for _, name := range preflight.Namespaces() {
		found := corev1.Namespace{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, &found)
		if r.gap(preflight.SourceNamespaces, err) {
			return
		}
		if err == nil {
			r.facts.Namespaces = append(r.facts.Namespaces, found)
		}
	}
}

// pods keeps those with ports of their nodes.
func (r *preflightReader) pods(ctx context.Context) {
	// A page at a time: a cluster may have a hundred thousand pods.
	items := func(l *corev1.PodList) []corev1.Pod {
		return slices.DeleteFunc(l.Items, func(p corev1.Pod) bool {
			return !p.Spec.HostNetwork && !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
				return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
			})
		})
	}
	found, err := pages(ctx, r.client, kind[*corev1.PodList, corev1.Pod]{empty: func() *corev1.PodList { return &corev1.PodList{} }, items: items})
	if !r.gap(preflight.SourcePods, err) {
		r.facts.Pods = found
	}
}

func (r *preflightReader) metalLB(ctx context.Context) {
	found, err := othermetallb.Find(ctx, r.client)
	if r.gap(preflight.SourceWorkloads, err) {
		return
	}
	for _, w := range found {
		r.facts.OtherMetalLB = append(r.facts.OtherMetalLB, w.String())
	}
}

// preflightList returns a function that reads all objects of a kind into a slice.
func preflightList[L client.ObjectList, T any](r *preflightReader, source preflight.Source, into *[]T, k kind[L, T]) func(context.Context) {
	return func(ctx context.Context) {
		found, err := pages(ctx, r.client, k)
		if !r.gap(source, err) {
			*into = found
		}
	}
}

func (r *preflightReader) lists() []func(context.Context) {
	f := r.facts
	return []func(context.Context){
		preflightList(r, preflight.SourceServices, &f.Services, kind[*corev1.ServiceList, corev1.Service]{
			empty: func() *corev1.ServiceList { return &corev1.ServiceList{} }, items: func(l *corev1.ServiceList) []corev1.Service { return l.Items },
		}),
		preflightList(r, preflight.SourceWorkloads, &f.Deployments, kind[*appsv1.DeploymentList, appsv1.Deployment]{
			empty: func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} }, items: func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items },
		}),
		preflightList(r, preflight.SourceWorkloads, &f.DaemonSets, kind[*appsv1.DaemonSetList, appsv1.DaemonSet]{
			empty: func() *appsv1.DaemonSetList { return &appsv1.DaemonSetList{} }, items: func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items },
		}),
		preflightList(r, preflight.SourceClasses, &f.Classes, kind[*networkingv1.IngressClassList, networkingv1.IngressClass]{
			empty: func() *networkingv1.IngressClassList { return &networkingv1.IngressClassList{} },
			items: func(l *networkingv1.IngressClassList) []networkingv1.IngressClass { return l.Items },
		}),
		preflightList(r, preflight.SourceControllers, &f.Controllers, kind[*operatorv1.IngressControllerList, operatorv1.IngressController]{
			empty:   func() *operatorv1.IngressControllerList { return &operatorv1.IngressControllerList{} },
			items:   func(l *operatorv1.IngressControllerList) []operatorv1.IngressController { return l.Items },
			options: []client.ListOption{client.InNamespace(api.OperatorNamespace)},
		}),
	}
}
