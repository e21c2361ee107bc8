package kube

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	watchapi "k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/kube/jsonwatch"
)

// gatewayPause is the longest pause between attempts to watch a kind of the Gateway API
// that the router may not read, or that the API server does not say it has.
const gatewayPause = 30 * time.Second

// feeds returns what keeps the stores up to date.
func (g *gatewaySets) feeds(w *Watcher) []*feed {
	all := []*feed{
		jsonFeed(w, "gatewayclasses", g.classes, func(l *listedObject[gatewayv1.GatewayClassSpec, struct{}]) *gatewayv1.GatewayClass {
			return &gatewayv1.GatewayClass{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}
		}),
		jsonFeed(w, "gateways", g.objects, func(l *listedObject[gatewayv1.GatewaySpec, gatewayv1.GatewayStatus]) *gatewayv1.Gateway {
			return &gatewayv1.Gateway{ObjectMeta: l.Metadata.meta(), Spec: l.Spec, Status: l.Status}
		}),
		jsonFeed(w, "listenersets", g.sets, func(l *listedObject[gatewayv1.ListenerSetSpec, gatewayv1.ListenerSetStatus]) *gatewayv1.ListenerSet {
			return &gatewayv1.ListenerSet{ObjectMeta: l.Metadata.meta(), Spec: l.Spec, Status: l.Status}
		}),
		jsonFeed(w, "httproutes", g.routes[gateway.KindHTTPRoute], func(l *listedObject[gatewayv1.HTTPRouteSpec, listedParents]) *gatewayRoute {
			return &gatewayRoute{&gatewayv1.HTTPRoute{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Spec.ParentRefs, l.Status.Parents}
		}),
		jsonFeed(w, "grpcroutes", g.routes[gateway.KindGRPCRoute], func(l *listedObject[gatewayv1.GRPCRouteSpec, listedParents]) *gatewayRoute {
			return &gatewayRoute{&gatewayv1.GRPCRoute{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Spec.ParentRefs, l.Status.Parents}
		}),
		jsonFeed(w, "tlsroutes", g.routes[gateway.KindTLSRoute], func(l *listedObject[gatewayv1.TLSRouteSpec, listedParents]) *gatewayRoute {
			return &gatewayRoute{&gatewayv1.TLSRoute{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Spec.ParentRefs, l.Status.Parents}
		}),
		jsonFeed(w, "tcproutes", g.routes[gateway.KindTCPRoute], func(l *listedObject[gatewayv1.TCPRouteSpec, listedParents]) *gatewayRoute {
			return &gatewayRoute{&gatewayv1.TCPRoute{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Spec.ParentRefs, l.Status.Parents}
		}),
		jsonFeed(w, "udproutes", g.routes[gateway.KindUDPRoute], func(l *listedObject[gatewayv1.UDPRouteSpec, listedParents]) *gatewayRoute {
			return &gatewayRoute{&gatewayv1.UDPRoute{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Spec.ParentRefs, l.Status.Parents}
		}),
		tlsPolicyFeed(w, g.tls),
		jsonFeed(w, "referencegrants", g.grants, func(l *listedObject[gatewayv1.ReferenceGrantSpec, struct{}]) *gatewayv1.ReferenceGrant {
			return &gatewayv1.ReferenceGrant{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}
		}),
	}
	if w.ownNamespace == "" {
		_ = g.slots.Replace(nil, "")
		return all
	}
	slots := clientFeed(w.clients.core, "configmaps", w.ownNamespace, gatewayapi.SlotsName(w.name), &corev1.ConfigMap{})
	slots.store, slots.plain = g.slots, true
	return append(all, slots)
}

// listedObject is of an object what the router reads; above all not managedFields.
type listedObject[S, T any] struct {
	Metadata listedMeta `json:"metadata"`
	Spec     S          `json:"spec"`
	Status   T          `json:"status"`
}

// jsonFeed returns a feed of a kind of the Gateway API. Where the API server does not have
// it, or the router may not read it, nothing of it is served.
func jsonFeed[S, T any, O interface {
	comparable
	runtime.Object
}](w *Watcher, resource string, st *store[O], object func(*listedObject[S, T]) O) *feed {
	decode := func(d *jsontext.Decoder) (O, error) {
		l := listedObject[S, T]{}
		err := json.UnmarshalDecode(d, &l)
		return object(&l), err
	}
	client := w.clients.gateway
	list := st.list(readJSON(client, resource, func(d *jsontext.Decoder) (any, error) { return decode(d) }))
	f := &feed{name: resource, store: st, example: object(&listedObject[S, T]{}), plain: true, slowest: gatewayPause}
	f.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		for {
			l, err := list(ctx, o)
			switch {
			case apierrors.IsForbidden(err):
				w.log.Debug("may not read this kind of the gateway API", "resource", resource, "err", err)
				return nil, apierrors.NewNotFound(gatewayv1.Resource(resource), "")
			case !apierrors.IsNotFound(err) || ctx.Err() != nil:
				return l, err
			}
			f.absent()
			w.gateways.kinds.await(ctx, resource, gatewayPause)
		}
	}
	f.watch = func(ctx context.Context, o metav1.ListOptions) (watchapi.Interface, error) {
		return jsonwatch.Start(ctx, client, resource, o, func(d *jsontext.Decoder) (runtime.Object, error) { return decode(d) })
	}
	f.absent = func() {
		w.gateways.absent.Do(func() {
			w.log.Info("the API server does not have the Gateway API, or this router may not read it; its objects are read as soon as that changes")
		})
		if !st.isSynced() {
			_ = st.Replace(nil, "") // of nothing nothing can be wrong
		}
	}
	return f
}
