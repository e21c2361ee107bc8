package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/explain"
)

// slowest is the longest pause between attempts of a watch.
const slowest = 5 * time.Second

// answer is what the API server says about a kind.
type answer int

const (
	// unasked is before the first list, there that objects are known.
	unasked answer = iota
	there
	// absent is a kind that the cluster does not have, forbidden one that may not be read.
	absent
	forbidden
)

// mirror keeps the objects of one kind. It implements cache.ReflectorStore.
type mirror struct {
	kind

	changes *atomic.Int64
	// answered is closed when the state is known.
	answered chan struct{}
	once     sync.Once

	mu      sync.RWMutex
	objects map[key]metav1.Object
	is      answer
	// taken are the objects of the last reading that have changed since, nil for those that it
	// did not have, and afresh says that all are to be read again.
	taken  map[key]metav1.Object
	afresh bool
	// failed is the last refusal and since when there was nothing else; nil for none.
	failed error
	since  time.Time
}

type key struct{ namespace, name string }

var (
	_ cache.ReflectorStore    = (*mirror)(nil)
	_ cache.TransformingStore = (*mirror)(nil)
)

func newMirror(k kind, changes *atomic.Int64) *mirror {
	return &mirror{kind: k, changes: changes, answered: make(chan struct{}), objects: map[key]metav1.Object{}, taken: map[key]metav1.Object{}}
}

// run lists and watches until the context ends.
func (m *mirror) run(ctx context.Context, c client.WithWatch) {
	quiet := logr.Discard() // what fails is said by await
	options := func(o *metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{Raw: o, Limit: o.Limit, Continue: o.Continue, Namespace: m.in}
	}
	from := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, _ := m.list.DeepCopyObject().(client.ObjectList)
			err := c.List(ctx, list, options(&o))
			m.observe(ctx, err)
			return list, err //nolint:wrapcheck // the reflector looks at it
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			list, _ := m.list.DeepCopyObject().(client.ObjectList)
			w, err := c.Watch(ctx, list, options(&o))
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) { // from which the reflector goes on to a plain list
				m.observe(ctx, err)
			}
			if err != nil {
				return nil, err //nolint:wrapcheck // the reflector looks at it
			}
			return &watched{w, m}, nil
		},
	}
	reflector := cache.NewReflectorWithOptions(from, m.example, m, cache.ReflectorOptions{
		Logger: &quiet, Name: m.name, Backoff: &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: slowest},
	})
	reflector.RunWithContext(klog.NewContext(ctx, quiet))
}

// watched is a watch that says when it ends.
type watched struct {
	watch.Interface
	mirror *mirror
}

// Stop implements watch.Interface. Until the API server answers again, it is not known what has
// changed, and a client may wait for an answer for a while before it fails.
func (w *watched) Stop() {
	w.Interface.Stop()
	m := w.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		m.failed, m.since = errEnded, time.Now()
	}
}

var errEnded = errors.New("the watch has ended, and the API server does not answer")

// observe notes what the API server answered.
func (m *mirror) observe(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.is
	switch {
	case err == nil:
		m.failed = nil
		return
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		m.is, m.failed = absent, nil
	case apierrors.IsForbidden(err):
		m.is, m.failed = forbidden, nil
	default:
		if m.failed == nil {
			m.since = time.Now()
		}
		m.failed = err
		return
	}
	if m.is != before { // what was there may be gone, or not be looked at any more
		clear(m.objects)
		m.afresh = true
		m.changes.Add(1)
	}
	m.once.Do(func() { close(m.answered) })
}

// await waits until the state is known, and returns why it is not, or not any more.
func (m *mirror) await(ctx context.Context, now time.Time) error {
	select {
	case <-m.answered:
	case <-ctx.Done():
		m.mu.RLock()
		defer m.mu.RUnlock()
		if m.failed != nil {
			return m.failed
		}
		return ctx.Err()
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.failed != nil && now.Sub(m.since) > failsFor {
		return m.failed
	}
	return nil
}

func (m *mirror) state() answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.is
}

// all returns all objects, by namespace and name. They are those of the last reading then.
func (m *mirror) all() (objects []metav1.Object, is answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range slices.SortedFunc(maps.Keys(m.objects), func(a, b key) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	}) {
		objects = append(objects, m.objects[k])
	}
	m.taken, m.afresh = map[key]metav1.Object{}, false
	return objects, m.is
}

// changed returns what has changed since the last reading, and whether all is to be read again.
func (m *mirror) changed() (changes []explain.ObjectChange, afresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, before := range m.taken {
		changes = append(changes, explain.ObjectChange{Before: before, Now: m.objects[k]})
	}
	clear(m.taken)
	return changes, m.afresh
}

// note notes that an object is about to change. The caller holds mu.
func (m *mirror) note(k key, now metav1.Object) {
	m.changes.Add(1)
	was, noted := m.taken[k]
	switch {
	case !noted:
		m.taken[k] = m.objects[k]
	case was == nil && now == nil:
		delete(m.taken, k) // it came and went
	}
}

// each calls a function for all objects.
func (m *mirror) each(do func(metav1.Object)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, o := range m.objects {
		do(o)
	}
}

// Add implements cache.ReflectorStore.
func (m *mirror) Add(obj any) error { return m.Update(obj) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(obj any) error {
	o, k, err := m.take(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if before := m.objects[k]; before == nil || !sameVersion(before, o) {
		m.note(k, o)
		m.objects[k] = o
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (m *mirror) Delete(obj any) error {
	_, k, err := m.take(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[k] != nil {
		m.note(k, nil)
		delete(m.objects, k)
	}
	return nil
}

// Replace implements cache.ReflectorStore. Objects that have not changed are those of before.
func (m *mirror) Replace(all []any, _ string) error {
	next := make(map[key]metav1.Object, len(all))
	for _, obj := range all {
		o, k, err := m.take(obj)
		if err != nil {
			return err
		}
		next[k] = o
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is != there {
		m.afresh = true
		m.changes.Add(1)
	}
	for k, o := range next {
		if before := m.objects[k]; before != nil && sameVersion(before, o) {
			next[k] = before
		} else {
			m.note(k, o)
		}
	}
	for k := range m.objects {
		if next[k] == nil {
			m.note(k, nil)
		}
	}
	m.objects, m.is, m.failed = next, there, nil
	m.once.Do(func() { close(m.answered) })
	return nil
}

// Resync implements cache.ReflectorStore.
func (m *mirror) Resync() error { return nil }

// Transformer implements cache.TransformingStore: of a first list that comes as a stream, only
// what is kept is in memory.
func (m *mirror) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(metav1.Object); ok {
			reduce(o)
		}
		return obj, nil
	}
}

// take returns what is kept of an object.
func (m *mirror) take(obj any) (metav1.Object, key, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, key{}, fmt.Errorf("watch %ss: unexpected type %T", m.name, obj)
	}
	reduce(o)
	return o, key{o.GetNamespace(), o.GetName()}, nil
}

func sameVersion(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// lastApplied is what kubectl apply leaves behind: the object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// reduce removes what no answer is made from.
func reduce(o metav1.Object) {
	o.SetManagedFields(nil)
	if of := o.GetAnnotations(); of != nil {
		if delete(of, lastApplied); len(of) == 0 {
			o.SetAnnotations(nil)
		}
	}
	o.SetNamespace(intern(o.GetNamespace()))
	if typed, ok := o.(runtime.Object); ok {
		typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	switch v := o.(type) {
	case *routev1.Route:
		reduceRoute(v)
	case *corev1.Service:
		reduceService(v)
	case *discoveryv1.EndpointSlice:
		reduceSlice(v)
	}
}

func intern(text string) string { return unique.Make(text).Value() }

// reduceRoute makes texts that many Routes have one.
func reduceRoute(r *routev1.Route) {
	r.Spec.To.Kind = intern(r.Spec.To.Kind)
	if r.Spec.To.Name == r.Name {
		r.Spec.To.Name = r.Name
	}
	r.Status.Ingress = slices.Clip(r.Status.Ingress)
	for i := range r.Status.Ingress {
		of := &r.Status.Ingress[i]
		of.RouterName, of.RouterCanonicalHostname = intern(of.RouterName), intern(of.RouterCanonicalHostname)
		if of.Host == r.Spec.Host {
			of.Host = r.Spec.Host
		}
		for j := range of.Conditions {
			c := &of.Conditions[j]
			c.Type, c.Status, c.Reason = routev1.RouteIngressConditionType(intern(string(c.Type))), corev1.ConditionStatus(intern(string(c.Status))), intern(c.Reason)
		}
	}
}

func reduceService(s *corev1.Service) {
	s.Finalizers, s.OwnerReferences = nil, nil
	s.Spec.ClusterIPs, s.Spec.IPFamilies, s.Spec.IPFamilyPolicy, s.Spec.InternalTrafficPolicy = nil, nil, nil, nil
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		p.Name, p.Protocol = intern(p.Name), corev1.Protocol(intern(string(p.Protocol)))
	}
}

// reduceSlice leaves of an endpoint its address, its conditions and the name of its pod, and of
// the labels that of its Service.
func reduceSlice(s *discoveryv1.EndpointSlice) {
	service, named := s.Labels[discoveryv1.LabelServiceName]
	s.Labels, s.Annotations, s.OwnerReferences, s.GenerateName = nil, nil, nil, ""
	if named {
		s.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		e.NodeName, e.Zone, e.Hints, e.Hostname, e.DeprecatedTopology = nil, nil, nil, nil, nil
		if t := e.TargetRef; t != nil {
			e.TargetRef = &corev1.ObjectReference{Kind: intern(t.Kind), Name: strings.Clone(t.Name)}
		}
	}
}
