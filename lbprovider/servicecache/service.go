package servicecache

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// serviceRecord is what is read of a Service.
type serviceRecord struct {
	name        Name
	uid         types.UID
	labels      map[string]string
	annotations map[string]string
	class       *string
	ips         []string // of the status
	healthPort  int32
	local       bool
	// other says that the Service is not of type LoadBalancer.
	other bool
}

// services is what is kept of Services.
type services struct {
	mu sync.RWMutex // guards what follows
	of map[Name]*serviceRecord
}

func newServices() *services { return &services{of: map[Name]*serviceRecord{}} }

func (s *services) read(object any) (any, error) {
	if read, done := object.(*serviceRecord); done {
		return read, nil
	}
	svc, ok := object.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("read a Service: it is a %T", object)
	}
	name := Name{Namespace: svc.Namespace, Name: svc.Name}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return &serviceRecord{name: name, other: true}, nil
	}
	f := &serviceRecord{
		name: name, uid: svc.UID, labels: svc.Labels, class: svc.Spec.LoadBalancerClass, healthPort: svc.Spec.HealthCheckNodePort,
		local: svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
	}
	delete(svc.Annotations, corev1.LastAppliedConfigAnnotation)
	if len(svc.Annotations) > 0 {
		f.annotations = svc.Annotations
	}
	for _, in := range svc.Status.LoadBalancer.Ingress {
		f.ips = append(f.ips, in.IP)
	}
	return f, nil
}

func (s *services) put(read any) []Name {
	f := read.(*serviceRecord) //nolint:forcetypeassert // by read
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(f)
	return []Name{f.name}
}

func (s *services) set(f *serviceRecord) {
	if f.other {
		delete(s.of, f.name)
		return
	}
	s.of[f.name] = f
}

func (s *services) drop(read any) []Name {
	f := read.(*serviceRecord) //nolint:forcetypeassert // by read
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, f.name)
	return []Name{f.name}
}

func (s *services) replace(read []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.of)
	for _, r := range read {
		s.set(r.(*serviceRecord)) //nolint:forcetypeassert // by read
	}
}

func (s *services) names() []Name {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.of))
}

func (s *services) has(name Name) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[name] != nil
}

func (s *services) get(name Name) *corev1.Service {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := s.of[name]
	if f == nil {
		return nil
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: f.uid, Labels: f.labels, Annotations: f.annotations},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: f.class, HealthCheckNodePort: f.healthPort},
	}
	if f.local {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	for _, ip := range f.ips {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
	}
	return svc
}
