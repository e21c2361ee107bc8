package speaker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// announcedServices are the Services that this node announces.
type announcedServices map[types.NamespacedName]*layer2Verdict

// sameStatus says whether the status objects of both are the same.
func sameStatus(a, b *layer2Verdict) bool {
	return a == b || slices.Equal(a.addrs, b.addrs) && slices.Equal(a.Interfaces, b.Interfaces) && a.since.Equal(b.since)
}

// layer2StatusWriter keeps one ServiceL2Status per announced Service: the owner of
// the address creates its own and deletes those of others; a node that loses the
// address deletes its own. It runs beside the Speaker, which must not wait for the
// API server.
type layer2StatusWriter struct {
	client client.Client
	live   *servicecache.Statuses
	opts   Options
	owner  *podOwner
	// alone says that this speaker reaches no other: then it believes what
	// they write, and does not undo it.
	alone  *atomic.Bool
	wanted atomic.Pointer[announcedServices]

	mu sync.Mutex
	// written is when the object of a Service was last created.
	written map[types.NamespacedName]time.Time
	add     atomic.Pointer[func(types.NamespacedName)]
}

func newLayer2StatusWriter(c client.Client, opts Options, alone *atomic.Bool) *layer2StatusWriter {
	return &layer2StatusWriter{client: c, opts: opts, owner: newPodOwner(c, opts), alone: alone, written: map[types.NamespacedName]time.Time{}}
}

func (w *layer2StatusWriter) setup(mgr ctrl.Manager, live *servicecache.Statuses) error {
	w.live = live
	err := ctrl.NewControllerManagedBy(mgr).Named("l2status").
		WatchesRawSource(waitSource[reconcile.Request]{live}).
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

// changed has the objects about a Service compared with what they should be.
func (w *layer2StatusWriter) changed(name types.NamespacedName) {
	if add := w.add.Load(); add != nil {
		(*add)(name)
	}
}

// replaced does the same for all objects, and for those that are missing.
func (w *layer2StatusWriter) replaced() {
	if all := w.wanted.Load(); all != nil {
		for name := range *all {
			w.changed(name)
		}
	}
	for _, o := range w.live.All() {
		w.changed(o.Service)
	}
}

// set replaces what this node announces.
func (w *layer2StatusWriter) set(next announcedServices) {
	old := w.wanted.Swap(&next)
	add := w.add.Load()
	if add == nil {
		return
	}
	for name, v := range next {
		if old == nil {
			(*add)(name)
		} else if was, known := (*old)[name]; !known || !sameStatus(was, v) {
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
func (w *layer2StatusWriter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	all := w.wanted.Load()
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
			continue // its owner keeps it
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
func (w *layer2StatusWriter) mayCreate(name types.NamespacedName, now time.Time) (wait time.Duration) {
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

func (w *layer2StatusWriter) write(ctx context.Context, name types.NamespacedName, live *servicecache.Status, want *layer2Verdict) error {
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
		o.GenerateName, o.OwnerReferences = "l2-", w.owner.references(ctx)
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
