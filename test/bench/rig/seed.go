package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// Seeder puts copies of a Route, its Service and its EndpointSlice straight
// into etcd, status and all: 50,000 routes in half a minute instead of the
// five minutes that the API server takes to create them.
type Seeder struct {
	rig    *Rig
	client http.Client
	types  *protobuf.Serializer
	route  routev1.Route
	svc    corev1.Service
	slice  discoveryv1.EndpointSlice
	// namespace is that of the copies.
	namespace string
}

// In returns a seeder of copies in another namespace.
func (s *Seeder) In(namespace string) *Seeder {
	return &Seeder{rig: s.rig, client: http.Client{Transport: s.client.Transport}, types: s.types, route: s.route, svc: s.svc, slice: s.slice, namespace: namespace}
}

// Keys of objects in etcd.
func keyOfRoute(namespace, name string) string {
	return "/registry/route.openshift.io/routes/" + namespace + "/" + name
}

func keyOfService(namespace, name string) string {
	return "/registry/services/specs/" + namespace + "/" + name
}

func keyOfSlice(namespace, name string) string {
	return "/registry/endpointslices/" + namespace + "/" + name
}

// NewSeeder reads what is copied: the objects of a route that was created.
func (r *Rig) NewSeeder(ctx context.Context, template string) (*Seeder, error) {
	const connections = 16
	s := &Seeder{rig: r, namespace: Namespace, types: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: connections}
	text, err := s.read(ctx, keyOfRoute(Namespace, template))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &s.route); err != nil {
		return nil, fmt.Errorf("read route %s in etcd: %w", template, err)
	}
	for key, into := range map[string]runtime.Object{keyOfService(Namespace, template): &s.svc, keyOfSlice(Namespace, template): &s.slice} {
		text, err := s.read(ctx, key)
		if err != nil {
			return nil, err
		}
		if _, _, err := s.types.Decode(text, nil, into); err != nil {
			return nil, fmt.Errorf("read %s in etcd: %w", key, err)
		}
	}
	return s, nil
}

// Add copies the objects for a route of that name, whose pod has the n-th
// address. It may be used by several goroutines.
func (s *Seeder) Add(ctx context.Context, name string, n int, withCertificate bool) error {
	route, svc, slice := s.route.DeepCopy(), s.svc.DeepCopy(), s.slice.DeepCopy()
	for i, o := range []metav1.Object{route, svc, slice} {
		o.SetNamespace(s.namespace)
		o.SetName(name)
		o.SetUID(types.UID(fmt.Sprintf("%08d-0000-4000-8000-%012d", i, n)))
	}
	svc.TypeMeta, slice.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	slice.Labels[discoveryv1.LabelServiceName] = name
	slice.Endpoints[0].Addresses = []string{Address(n)}
	route.Spec.Host, route.Spec.To.Name = Host(name), name
	for i := range route.Status.Ingress {
		route.Status.Ingress[i].Host = Host(name)
	}
	route.Spec.TLS = nil
	if withCertificate {
		if _, err := s.rig.WithCertificate(route); err != nil {
			return err
		}
	}
	text, err := json.Marshal(route)
	if err != nil {
		return fmt.Errorf("copy route %s: %w", name, err)
	}
	puts := []any{put(keyOfRoute(s.namespace, name), text)}
	for key, o := range map[string]runtime.Object{keyOfService(s.namespace, name): svc, keyOfSlice(s.namespace, name): slice} {
		text, err := runtime.Encode(scheme.Codecs.EncoderForVersion(s.types, versionOf(o)), o)
		if err != nil {
			return fmt.Errorf("copy %s: %w", key, err)
		}
		puts = append(puts, put(key, text))
	}
	var answer struct {
		Succeeded bool `json:"succeeded"`
	}
	// All of a transaction get the same revision, which for the API server may
	// be that of one object of a kind only.
	err = s.etcd(ctx, "txn", map[string]any{"success": puts}, &answer)
	if err == nil && !answer.Succeeded {
		err = errors.New("etcd did not take the objects")
	}
	return err
}

// versionOf returns the version in which the API server stores an object.
func versionOf(o runtime.Object) runtime.GroupVersioner {
	if _, ok := o.(*corev1.Service); ok {
		return corev1.SchemeGroupVersion
	}
	return discoveryv1.SchemeGroupVersion
}

func put(key string, value []byte) any {
	return map[string]any{"request_put": map[string][]byte{"key": []byte(key), "value": value}}
}

func (s *Seeder) read(ctx context.Context, key string) ([]byte, error) {
	var answer struct {
		Kvs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := s.etcd(ctx, "range", map[string][]byte{"key": []byte(key)}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Kvs) != 1 {
		return nil, fmt.Errorf("etcd has no %s", key)
	}
	return answer.Kvs[0].Value, nil
}

// etcd asks etcd by its JSON gateway, which writes bytes in base64 as
// encoding/json does.
func (s *Seeder) etcd(ctx context.Context, what string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.rig.server.Etcd()+"/v3/kv/"+what, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	response, err := s.client.Do(post)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("read etcd's answer: %w", err)
	}
	return nil
}
