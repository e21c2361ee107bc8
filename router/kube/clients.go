package kube

import (
	"fmt"
	"net/http"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// clients holds one REST client per API group. All share one connection pool.
type clients struct {
	core, discovery, route, operator *rest.RESTClient
	metadata                         metadata.Interface

	// config and http are for clients of further groups.
	config *rest.Config
	http   *http.Client
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
	crds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{routev1.AddToScheme, operatorv1.AddToScheme} {
		if err := add(crds); err != nil {
			return nil, fmt.Errorf("make API clients: register types: %w", err)
		}
	}
	// The API server has protobuf for its own types only.
	binary := rest.CopyConfig(shared)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = protobuf

	c := &clients{config: binary, http: pool}
	for _, group := range []struct {
		config  *rest.Config
		types   serializer.CodecFactory
		version schema.GroupVersion
		client  **rest.RESTClient
	}{
		{binary, scheme.Codecs, corev1.SchemeGroupVersion, &c.core},
		{binary, scheme.Codecs, discoveryv1.SchemeGroupVersion, &c.discovery},
		{shared, serializer.NewCodecFactory(crds), routev1.GroupVersion, &c.route},
		{shared, serializer.NewCodecFactory(crds), operatorv1.GroupVersion, &c.operator},
	} {
		*group.client, err = restClient(group.config, pool, group.types, group.version)
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
