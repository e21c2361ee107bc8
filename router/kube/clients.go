package kube

import (
	"fmt"
	"net/http"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// clients holds one REST client per API group. All share one connection pool.
type clients struct {
	core, discovery, coordination, route, operator, fairlead, gateway *rest.RESTClient
	metadata                                                          metadata.Interface
}

const protobuf = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// newClients makes the clients. They do not throttle: watches are few and long,
// and the status writer bounds itself by its number of workers.
func newClients(config *rest.Config) (*clients, error) {
	if config == nil {
		return nil, fmt.Errorf("make API clients: no configuration given")
	}
	shared := rest.CopyConfig(config)
	shared.QPS = -1
	shared.RateLimiter = nil
	pool, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, fmt.Errorf("make API clients: %w", err)
	}
	types := serializer.NewCodecFactory(readTypes())
	// The API server has protobuf for its own types only.
	binary := rest.CopyConfig(shared)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = protobuf

	c := &clients{}
	for _, group := range []struct {
		config  *rest.Config
		version schema.GroupVersion
		client  **rest.RESTClient
	}{
		{binary, corev1.SchemeGroupVersion, &c.core},
		{binary, discoveryv1.SchemeGroupVersion, &c.discovery},
		{binary, coordinationv1.SchemeGroupVersion, &c.coordination},
		{shared, routev1.GroupVersion, &c.route},
		{shared, operatorv1.GroupVersion, &c.operator},
		{shared, v1alpha1.GroupVersion(), &c.fairlead},
		{shared, schema.GroupVersion(gatewayv1.GroupVersion), &c.gateway},
	} {
		*group.client, err = restClient(group.config, pool, types, group.version)
		if err != nil {
			return nil, err
		}
	}
	c.metadata, err = metadata.NewForConfigAndClient(shared, pool)
	if err != nil {
		return nil, fmt.Errorf("make API client for namespaces: %w", err)
	}
	return c, nil
}

// readTypes returns the types that the router reads or writes, and no others:
// a registered type is linked with all its methods, and its description is kept
// in memory.
func readTypes() *runtime.Scheme {
	types := runtime.NewScheme()
	types.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Secret{}, &corev1.SecretList{}, &corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Event{}, &corev1.Node{}, &corev1.NodeList{})
	types.AddKnownTypes(discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{})
	types.AddKnownTypes(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{})
	types.AddKnownTypes(routev1.GroupVersion, &routev1.Route{}, &routev1.RouteList{})
	types.AddKnownTypes(operatorv1.GroupVersion, &operatorv1.IngressController{}, &operatorv1.IngressControllerList{})
	types.AddKnownTypes(v1alpha1.GroupVersion(), &v1alpha1.RoutePolicy{}, &v1alpha1.RoutePolicyList{}, &v1alpha1.ClusterRoutePolicy{}, &v1alpha1.ClusterRoutePolicyList{})
	for _, group := range []schema.GroupVersion{corev1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion, routev1.GroupVersion, operatorv1.GroupVersion, v1alpha1.GroupVersion(), schema.GroupVersion(gatewayv1.GroupVersion)} {
		metav1.AddToGroupVersion(types, group)
	}
	return types
}

func restClient(config *rest.Config, pool *http.Client, types serializer.CodecFactory, version schema.GroupVersion) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = types.WithoutConversion()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.RESTClientForConfigAndClient(config, pool)
	if err != nil {
		return nil, fmt.Errorf("make API client for %s: %w", version, err)
	}
	return client, nil
}
