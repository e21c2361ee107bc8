package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	routev1 "github.com/openshift/api/route/v1"
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

	// mu is held while the cluster is read, made is the count of changes of the last reading, and
	// read says that there was one.
	mu   sync.Mutex
	made int64
	read bool
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
	w := &Watcher{host: config.Host, client: c, own: own}
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
const failsFor = 5 * time.Second

// Read returns what has changed since the last reading, none if nothing has, or at first all
// objects, which the caller may change. It also returns all where a part of the cluster may be read
// that could not be, or the other way about, and where the settings of routers have changed. It
// waits until all of them were read once.
func (w *Watcher) Read(ctx context.Context) (all *explain.Objects, changes []explain.ObjectChange, err error) {
	if err := w.await(ctx); err != nil {
		return nil, nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	count := w.changes.Load()
	if w.read && w.made == count {
		return nil, nil, nil
	}
	if w.read {
		var afresh bool
		if changes, afresh = w.changed(); !afresh {
			w.made = count
			return nil, changes, nil
		}
	}
	w.read = false
	if all, err = w.all(ctx); err == nil {
		w.read, w.made = true, count
	}
	return all, nil, err
}

// Forget has the next reading be one of all objects.
func (w *Watcher) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read = false
}

// Routes returns all Routes by namespace and name. They are not to be changed.
func (w *Watcher) Routes(ctx context.Context) ([]*routev1.Route, error) {
	if err := w.await(ctx); err != nil {
		return nil, err
	}
	var all []*routev1.Route
	w.mirrors[0].each(func(o metav1.Object) {
		if r, ok := o.(*routev1.Route); ok {
			all = append(all, r)
		}
	})
	slices.SortFunc(all, func(a, b *routev1.Route) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// await waits until all objects were read once.
func (w *Watcher) await(ctx context.Context) error {
	for _, m := range w.mirrors {
		if err := m.await(ctx, time.Now()); err != nil {
			return fmt.Errorf("watch %ss of cluster %s: %w", m.name, w.host, err)
		}
	}
	if w.mirrors[0].state() == absent {
		return errors.New("the cluster has no Routes: is Fairlead installed?")
	}
	return nil
}

func (w *Watcher) changed() (changes []explain.ObjectChange, afresh bool) {
	for _, m := range w.mirrors {
		of, all := m.changed()
		changes = append(changes, of...)
		afresh = afresh || all || len(of) > 0 && m.name == "IngressController" // with settings that were admitted
	}
	return changes, afresh
}

func (w *Watcher) all(ctx context.Context) (*explain.Objects, error) {
	r := &reader{client: w.client, objects: explain.NewObjects(), own: w.own, without: []string{"Secret", "ConfigMap"}}
	for _, m := range w.mirrors {
		of, is := m.all()
		if is == forbidden {
			r.gap(m.name, m.in, "")
		}
		for _, o := range of {
			r.objects.Add(o)
		}
	}
	for _, kind := range r.without {
		r.leavesOut(kind)
	}
	if err := r.admitted(ctx); err != nil {
		return nil, err
	}
	return r.objects, nil
}
