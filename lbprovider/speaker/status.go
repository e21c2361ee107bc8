package speaker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/servicecache"
)

const (
	// createPause is how often at most the object of a Service is created.
	createPause = 3 * time.Second
	// conflictPause is after how long a write is tried again.
	conflictPause = 500 * time.Millisecond
)

// owned are the Services that this node announces.
type owned map[types.NamespacedName]*verdict

// alike says whether the status objects of both are the same.
func alike(a, b *verdict) bool {
	return a == b || slices.Equal(a.addrs, b.addrs) && slices.Equal(a.Interfaces, b.Interfaces) && a.since.Equal(b.since)
}

// statusWriter keeps one ServiceL2Status per announced Service: the owner
// creates its own and deletes those of others; who loses deletes its own. It
// works beside the Speaker, which must not wait for the API server.
type statusWriter struct {
	client client.Client
	live   *servicecache.Statuses
	opts   Options
	log    *slog.Logger
	// alone says that this speaker reaches no other: then it believes what
	// they write, and does not undo it.
	alone *atomic.Bool
	owned atomic.Pointer[owned]

	mu sync.Mutex
	// written is when the object of a Service was last created.
	written map[types.NamespacedName]time.Time
	add     atomic.Pointer[func(types.NamespacedName)]
}

func newStatusWriter(c client.Client, opts Options, alone *atomic.Bool) *statusWriter {
	return &statusWriter{client: c, opts: opts, log: opts.Log.With("part", "status"), alone: alone, written: map[types.NamespacedName]time.Time{}}
}

func (w *statusWriter) setup(mgr ctrl.Manager, live *servicecache.Statuses) error {
	w.live = live
	err := ctrl.NewControllerManagedBy(mgr).Named("l2status").
		WatchesRawSource(awaited{live}).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			add := func(name types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: name}) }
			w.add.Store(&add)
			w.replaced()
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(w)
	if err != nil {
		return fmt.Errorf("set up status objects: %w", err)
	}
	return nil
}

// changed has the objects about a Service looked at.
func (w *statusWriter) changed(name types.NamespacedName) {
	if add := w.add.Load(); add != nil {
		(*add)(name)
	}
}

// replaced has all objects looked at, those that are missing as well.
func (w *statusWriter) replaced() {
	if all := w.owned.Load(); all != nil {
		for name := range *all {
			w.changed(name)
		}
	}
	for _, o := range w.live.All() {
		w.changed(o.Service)
	}
}

// own replaces what this node announces.
func (w *statusWriter) own(next owned) {
	old := w.owned.Swap(&next)
	add := w.add.Load()
	if add == nil {
		return
	}
	for name, o := range next {
		if old == nil {
			(*add)(name)
		} else if was, known := (*old)[name]; !known || !alike(was, o) {
			(*add)(name)
		}
	}
	if old != nil {
		for name := range *old {
			if _, still := next[name]; !still {
				(*add)(name)
			}
		}
	}
}

// Reconcile brings the status objects of one Service in line.
func (w *statusWriter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	all := w.owned.Load()
	if all == nil {
		return reconcile.Result{}, nil // nothing is decided yet
	}
	want, ours := (*all)[req.NamespacedName]
	if w.alone.Load() {
		return reconcile.Result{}, nil
	}
	var mine *servicecache.Status
	for _, o := range w.live.ForService(req.NamespacedName) {
		own := o.Node == w.opts.NodeName
		if own && ours && mine == nil && !o.Mismatched {
			mine = o
			continue
		}
		if !own && !ours {
			continue // its owner's business
		}
		gone := &v1beta1.ServiceL2Status{ObjectMeta: metav1.ObjectMeta{Namespace: w.opts.Namespace, Name: o.Name}}
		if err := client.IgnoreNotFound(w.client.Delete(ctx, gone)); err != nil {
			return reconcile.Result{}, fmt.Errorf("delete status object %s: %w", o.Name, err)
		}
	}
	if !ours {
		return reconcile.Result{}, nil
	}
	if mine == nil {
		if wait := w.mayCreate(req.NamespacedName, time.Now()); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	err := w.write(ctx, req.NamespacedName, mine, want)
	if apierrors.IsConflict(err) { // the cache is behind, or another deleted it
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{}, err
}

// mayCreate bounds how often the object of a Service is created. Two owners
// that do not see each other would otherwise delete each other's without end.
func (w *statusWriter) mayCreate(name types.NamespacedName, now time.Time) (wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if left := createPause - now.Sub(w.written[name]); left > 0 {
		return left
	}
	for old, at := range w.written {
		if now.Sub(at) > createPause {
			delete(w.written, old)
		}
	}
	w.written[name] = now
	return 0
}

func (w *statusWriter) write(ctx context.Context, name types.NamespacedName, live *servicecache.Status, want *verdict) error {
	since := metav1.NewTime(want.since.Truncate(time.Second))
	next := v1beta1.MetalLBServiceL2Status{Node: w.opts.NodeName, ServiceName: name.Name, ServiceNamespace: name.Namespace, Since: &since}
	for _, i := range want.Interfaces {
		next.Interfaces = append(next.Interfaces, v1beta1.InterfaceInfo{Name: i})
	}
	for _, a := range want.addrs {
		next.Addresses = append(next.Addresses, a.String())
	}
	o := &v1beta1.ServiceL2Status{ObjectMeta: metav1.ObjectMeta{Namespace: w.opts.Namespace}, Status: next}
	if live != nil {
		if w.live.Matches(live, o) {
			return nil
		}
		o.Name, o.ResourceVersion = live.Name, live.Version // a status is written without anything else
	} else {
		o.GenerateName, o.OwnerReferences = "l2-", w.owner(ctx)
		o.Labels = map[string]string{
			v1beta1.LabelNode: w.opts.NodeName, v1beta1.LabelServiceName: name.Name, v1beta1.LabelServiceNamespace: name.Namespace,
		}
		if err := w.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create status object of %s: %w", name, err)
		}
		o.Status = next
	}
	if err := w.client.Status().Update(ctx, o); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status object %s: %w", o.Name, err))
	}
	return nil
}

// owner is this speaker's pod, with which its objects go.
func (w *statusWriter) owner(ctx context.Context) []metav1.OwnerReference {
	if w.opts.PodName == "" {
		return nil
	}
	var pod corev1.Pod
	if err := w.client.Get(ctx, types.NamespacedName{Namespace: w.opts.Namespace, Name: w.opts.PodName}, &pod); err != nil {
		w.log.Info("the status object has no owner", "err", err)
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
}

// superseded says whether another working node says that it announces the Service.
func (s *Speaker) superseded(name types.NamespacedName) bool {
	return slices.ContainsFunc(s.incumbents(name), func(node string) bool { return s.unmet[node] })
}
