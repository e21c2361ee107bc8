package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/explain"
)

// Watcher keeps the objects of a cluster, of all namespaces and without Secrets and ConfigMaps,
// for a program that is asked again and again. Of each it keeps what answers are made from. It
// knows at once when nothing has changed, and never has two readings of the cluster in memory.
type Watcher struct {
	host    string
	client  client.WithWatch
	own     string
	mirrors []*mirror
	// changes counts those of all mirrors.
	changes atomic.Int64

	// mu is held while objects are put together, made is the count of changes of the last ones.
	mu   sync.Mutex
	made int64
	last *explain.Objects
}

// NewWatcher returns a Watcher of a cluster, which begins when it runs. Own is that of Read.
func NewWatcher(config *rest.Config, own string) (*Watcher, error) {
	scheme, err := types()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	w := &Watcher{host: config.Host, client: c, own: own, made: -1}
	for _, k := range append(slices.Concat(kinds(), gatewayKinds()), kind{"Namespace", &corev1.Namespace{}, &corev1.NamespaceList{}, true, ""}) {
		w.mirrors = append(w.mirrors, newMirror(k, &w.changes))
	}
	return w, nil
}

// Run watches until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, m := range w.mirrors {
		all.Go(func() { m.run(ctx, w.client) })
	}
	all.Wait()
}

// failsFor is how long a watch may be without an answer until what it has is called old: a
// watch that the API server ends is opened again within it.
const failsFor = 10 * time.Second

// Objects returns the objects as they are now, the same ones as before if nothing has changed.
// They never change. It waits until all of them were read once.
func (w *Watcher) Objects(ctx context.Context) (*explain.Objects, error) {
	for _, m := range w.mirrors {
		if err := m.await(ctx, time.Now()); err != nil {
			return nil, fmt.Errorf("watch %ss of cluster %s: %w", m.name, w.host, err)
		}
	}
	if w.mirrors[0].state() == absent {
		return nil, errors.New("the cluster has no Routes: is Fairlead installed?")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := w.changes.Load()
	if w.made == changes {
		return w.last, nil
	}
	r := &reader{client: w.client, objects: explain.NewObjects(), own: w.own, without: []string{"Secret", "ConfigMap"}}
	for _, m := range w.mirrors {
		if m.state() == forbidden {
			r.gap(m.name, m.in, "")
		}
		m.each(func(o metav1.Object) { r.objects.Add(o) })
	}
	for _, kind := range r.without {
		r.leavesOut(kind)
	}
	if err := r.admitted(ctx); err != nil {
		return nil, err
	}
	w.last, w.made = r.objects, changes
	return w.last, nil
}
