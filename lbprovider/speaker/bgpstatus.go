package speaker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/servicecache"
)

const (
	// statusPause is the shortest time between two rounds of writing, as
	// sessions and Services tend to change together.
	statusPause = 500 * time.Millisecond
	noBFD       = "N/A"
)

// writeStatuses asks for all objects of a bgpStatusWriter at once.
type writeStatuses struct{}

// bgpStatusWriter keeps the BGPSessionState objects of this node, one per peer,
// and its ServiceBGPStatus objects, one per Service that it announces. It works
// beside the Speaker, which must not wait for the API server.
type bgpStatusWriter struct {
	client client.Client
	live   *servicecache.Statuses
	opts   Options
	owner  *podOwner

	mu       sync.Mutex // guards what follows
	wanted   bool
	services map[types.NamespacedName][]string
	sessions []bgp.Status
	bfd      map[string]bfd.State
	add      func()
}

func newBGPStatusWriter(c client.Client, opts Options) *bgpStatusWriter {
	return &bgpStatusWriter{client: c, opts: opts, owner: newPodOwner(c, opts)}
}

func (w *bgpStatusWriter) setup(mgr ctrl.Manager) error {
	var err error
	w.live, err = servicecache.NewBGPStatuses(servicecache.Options{
		REST: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Changed: func(types.NamespacedName) { w.requeue() }, Replaced: w.requeue,
	}, w.opts.Namespace, w.opts.NodeName)
	if err != nil {
		return fmt.Errorf("watch status objects of BGP: %w", err)
	}
	toAll := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []writeStatuses {
		return []writeStatuses{{}}
	})
	err = builder.TypedControllerManagedBy[writeStatuses](mgr).Named("bgpstatus").
		WatchesRawSource(runSource[writeStatuses]{w.live}).
		Watches(&v1beta1.BGPSessionState{}, toAll).
		WatchesRawSource(source.TypedFunc[writeStatuses](func(_ context.Context, q workqueue.TypedRateLimitingInterface[writeStatuses]) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.add = func() { q.AddAfter(writeStatuses{}, statusPause) }
			w.add()
			return nil
		})).
		Complete(w)
	if err != nil {
		return fmt.Errorf("set up status objects of BGP: %w", err)
	}
	return nil
}

// requeue has all objects compared soon with what they should be.
func (w *bgpStatusWriter) requeue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.add != nil {
		w.add()
	}
}

// set replaces what the objects are to say.
func (w *bgpStatusWriter) set(services map[types.NamespacedName][]string, sessions []bgp.Status, states map[string]bfd.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted && maps.EqualFunc(w.services, services, slices.Equal) && slices.Equal(w.sessions, sessions) && maps.Equal(w.bfd, states) {
		return
	}
	w.wanted, w.services, w.sessions, w.bfd = true, services, sessions, states
	if w.add != nil {
		w.add()
	}
}

// Reconcile brings all objects of this node in line.
func (w *bgpStatusWriter) Reconcile(ctx context.Context, _ writeStatuses) (reconcile.Result, error) {
	w.mu.Lock()
	wanted, services, sessions, states := w.wanted, w.services, w.sessions, w.bfd
	w.mu.Unlock()
	if !wanted {
		return reconcile.Result{}, nil
	}
	mine := []client.ListOption{client.InNamespace(w.opts.Namespace), client.MatchingLabels{v1beta1.LabelNode: w.opts.NodeName}}
	err := w.writeServices(ctx, services)
	if err == nil {
		err = w.writeSessions(ctx, sessions, states, mine)
	}
	if apierrors.IsConflict(err) { // the cache lags behind the last write
		return reconcile.Result{RequeueAfter: statusPause}, nil
	}
	return reconcile.Result{}, err
}

func (w *bgpStatusWriter) writeServices(ctx context.Context, services map[types.NamespacedName][]string) error {
	for _, live := range w.live.All() {
		peers, wanted := services[live.Service]
		o := w.serviceStatus(live.Service, peers)
		o.Name, o.ResourceVersion = live.Name, live.Version // a status is written without anything else
		if _, err := w.keep(ctx, o, wanted && live == w.useful(live.Service), w.live.Matches(live, o)); err != nil {
			return err
		}
	}
	for name, peers := range services {
		if w.useful(name) != nil {
			continue
		}
		o := w.serviceStatus(name, peers)
		status := o.Status
		o.ObjectMeta = w.meta(ctx, "bgp-", map[string]string{
			v1beta1.LabelServiceName: name.Name, v1beta1.LabelServiceNamespace: name.Namespace,
		})
		if err := w.create(ctx, o, func() { o.Status = status }); err != nil {
			return err
		}
	}
	return nil
}

// useful returns the object about a Service that is to stay, or nil.
func (w *bgpStatusWriter) useful(name types.NamespacedName) *servicecache.Status {
	for _, o := range w.live.ForService(name) {
		if !o.Mismatched {
			return o
		}
	}
	return nil
}

func (w *bgpStatusWriter) serviceStatus(name types.NamespacedName, peers []string) *v1beta1.ServiceBGPStatus {
	return &v1beta1.ServiceBGPStatus{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.opts.Namespace},
		Status: v1beta1.MetalLBServiceBGPStatus{
			Node: w.opts.NodeName, ServiceName: name.Name, ServiceNamespace: name.Namespace, Peers: peers,
		},
	}
}

func (w *bgpStatusWriter) writeSessions(ctx context.Context, sessions []bgp.Status, states map[string]bfd.State, mine []client.ListOption) error {
	var list v1beta1.BGPSessionStateList
	if err := w.client.List(ctx, &list, mine...); err != nil {
		return fmt.Errorf("list session states: %w", err)
	}
	missing := map[string]v1beta1.BGPSessionStateStatus{}
	for _, st := range sessions {
		missing[st.Peer.Name] = w.sessionStatus(st, states)
	}
	for i := range list.Items {
		o := &list.Items[i]
		name := o.Labels[v1beta1.LabelPeer]
		status, wanted := missing[name]
		mismatched := differs(o.Status.Node, status.Node) || differs(o.Status.Peer, status.Peer) || o.Labels[v1beta1.LabelVRF] != status.VRF
		same := equality.Semantic.DeepEqual(o.Status, status)
		o.Status = status
		kept, err := w.keep(ctx, o, wanted && !mismatched, same)
		if err != nil {
			return err
		}
		if kept {
			delete(missing, name)
		}
	}
	for name, status := range missing {
		o := &v1beta1.BGPSessionState{ObjectMeta: w.meta(ctx, "session-", map[string]string{v1beta1.LabelPeer: name, v1beta1.LabelVRF: status.VRF})}
		if err := w.create(ctx, o, func() { o.Status = status }); err != nil {
			return err
		}
	}
	return nil
}

// differs says whether a field that cannot be changed back has a wrong value.
func differs(is, want string) bool { return is != "" && is != want }

// keep writes the status of an object that is to stay, unless it is there
// already, and removes one that is not.
func (w *bgpStatusWriter) keep(ctx context.Context, o client.Object, stays, same bool) (kept bool, err error) {
	switch {
	case !stays:
		if err := client.IgnoreNotFound(w.client.Delete(ctx, o)); err != nil {
			return false, fmt.Errorf("delete %s: %w", o.GetName(), err)
		}
		return false, nil
	case same:
		return true, nil
	default:
		return true, w.update(ctx, o)
	}
}

func (w *bgpStatusWriter) sessionStatus(st bgp.Status, states map[string]bfd.State) v1beta1.BGPSessionStateStatus {
	out := v1beta1.BGPSessionStateStatus{
		BGPStatus: st.State, BFDStatus: noBFD, Node: w.opts.NodeName, Peer: st.Peer.Name, VRF: st.Peer.VRF,
		LastError: shorten(st.Problem), Advertised: int32(st.Routes),
	}
	if st.Address.IsValid() {
		out.PeerAddress = st.Address.String()
	}
	if state, watched := states[st.Peer.Name]; watched {
		out.BFDStatus = state.String()
	}
	if st.Up() {
		since := metav1.NewTime(st.Since.Truncate(time.Second))
		out.EstablishedAt = &since
	} else {
		out.Advertised = 0
	}
	return out
}

func (w *bgpStatusWriter) meta(ctx context.Context, prefix string, extra map[string]string) metav1.ObjectMeta {
	extra[v1beta1.LabelNode] = w.opts.NodeName
	return metav1.ObjectMeta{Namespace: w.opts.Namespace, GenerateName: prefix, Labels: extra, OwnerReferences: w.owner.references(ctx)}
}

// create makes an object and gives it the status that fill fills in.
func (w *bgpStatusWriter) create(ctx context.Context, o client.Object, fill func()) error {
	if err := w.client.Create(ctx, o); err != nil {
		return fmt.Errorf("create %s: %w", o.GetGenerateName(), err)
	}
	fill()
	return w.update(ctx, o)
}

func (w *bgpStatusWriter) update(ctx context.Context, o client.Object) error {
	if err := client.IgnoreNotFound(w.client.Status().Update(ctx, o)); err != nil {
		return fmt.Errorf("write status of %s: %w", o.GetName(), err)
	}
	return nil
}
