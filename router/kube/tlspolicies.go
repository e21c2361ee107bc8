package kube

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// tlsPolicy is a BackendTLSPolicy with the entries of its status as the API server has them:
// those of others are never read, and stay as they are.
type tlsPolicy struct {
	*gatewayv1.BackendTLSPolicy

	ancestors jsontext.Value
}

// listedAncestors are the entries of a policy's status, unread.
type listedAncestors struct {
	Ancestors jsontext.Value `json:"ancestors"`
}

func newTLSPolicies(w *Watcher) *store[*tlsPolicy] {
	s := newStore(gateway.KindBackendTLSPolicy, whole(func(*tlsPolicy) {}), func(key model.Object, before, after *tlsPolicy) {
		if before == nil || after == nil || before.UID != after.UID || before.Generation != after.Generation {
			w.dirty.Mark(key)
			w.dirty.Mark(gateway.TLSPoliciesOf(key.Namespace))
		}
		w.gatewaySeen(key)
	})
	s.index = func(key model.Object, _ *tlsPolicy) model.Object { return gateway.TLSPoliciesOf(key.Namespace) }
	return s
}

func tlsPolicyFeed(w *Watcher, s *store[*tlsPolicy]) *feed {
	return jsonFeed(w, "backendtlspolicies", s, func(l *listedObject[gatewayv1.BackendTLSPolicySpec, listedAncestors]) *tlsPolicy {
		return &tlsPolicy{&gatewayv1.BackendTLSPolicy{ObjectMeta: l.Metadata.meta(), Spec: l.Spec}, l.Status.Ancestors}
	})
}

// TLSPolicies implements door.Gateways.
func (w *Watcher) TLSPolicies(namespace string) (all []*gatewayv1.BackendTLSPolicy) {
	for _, p := range w.gateways.tls.group(gateway.TLSPoliciesOf(namespace)) {
		all = append(all, p.BackendTLSPolicy)
	}
	return all
}

// servesTLSPolicy reports whether this router reads a policy. Which Gateways it is for
// follows from routes.
func (w *Watcher) servesTLSPolicy(p *tlsPolicy) bool {
	return p != nil && w.Namespace(p.Namespace) != nil
}

// useTLSPolicies notes which BackendTLSPolicies are for Services that a route names, and looks
// again at those that are concerned. The caller holds mu.
func (g *gatewayReports) useTLSPolicies(route model.Object, before, now *model.RouteStatus) {
	look := func(p model.Object) {
		if o := g.desired[p]; o != nil {
			o.changed()
		}
		g.enqueue(p)
	}
	for _, p := range before.TLSPolicies {
		if !slices.Contains(now.TLSPolicies, p) {
			if delete(g.routesOf[p], route); len(g.routesOf[p]) == 0 {
				delete(g.routesOf, p)
			}
			look(p)
		}
	}
	for _, p := range now.TLSPolicies {
		if g.routesOf[p] == nil {
			g.routesOf[p] = model.Objects{}
		}
		g.routesOf[p][route] = struct{}{}
		look(p)
	}
}

// parentsOf returns the Gateways and ListenerSets whose listeners have routes to the Services
// of a BackendTLSPolicy, each once. The caller holds mu.
func (g *gatewayReports) parentsOf(policy model.Object) (parents []model.Object) {
	for route := range g.routesOf[policy] {
		for _, p := range g.desired[route].status.Parents {
			if len(p.Listeners) > 0 && !slices.Contains(parents, p.Parent) {
				parents = append(parents, p.Parent)
			}
		}
	}
	return parents
}

// tlsPolicyWork compares the newest version of a BackendTLSPolicy with an opinion.
func (s *StatusWriter) tlsPolicyWork(key model.Object, known bool, status *model.RouteStatus, parents []model.Object, now metav1.Time) (gatewayWork, error) {
	stored := s.watcher.gateways.tls.get(key)
	if stored == nil || !known || status.UID != string(stored.UID) || status.Generation != stored.Generation {
		return gatewayWork{}, nil
	}
	var wanted []gatewayv1.ParentReference
	for _, p := range parents {
		if g := s.watcher.gatewayOf(p); g != nil {
			if ref := ancestorRef(g); !slices.ContainsFunc(wanted, func(r gatewayv1.ParentReference) bool { return reflect.DeepEqual(r, ref) }) {
				wanted = append(wanted, ref)
			}
		}
	}
	slices.SortFunc(wanted, func(a, b gatewayv1.ParentReference) int {
		return strings.Compare(string(*a.Namespace)+"/"+string(a.Name), string(*b.Namespace)+"/"+string(b.Name))
	})
	ancestors, differs, err := withTLSAncestors(stored.ancestors, wanted, status, s.servedElsewhere, now)
	w := gatewayWork{key: key, object: stored, kind: types.MergePatchType}
	if err != nil || !differs {
		return w, err
	}
	if ancestors == nil {
		ancestors = []json.RawMessage{} // which the CustomResourceDefinition demands
	}
	w.patch, err = json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": stored.UID, "resourceVersion": stored.ResourceVersion},
		"status":   map[string]any{"ancestors": ancestors},
	})
	return w, err //nolint:wrapcheck // the caller says of what
}

// ancestorRef names a Gateway in the status of a policy.
func ancestorRef(g *gatewayv1.Gateway) gatewayv1.ParentReference {
	group, kind, namespace := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind(gateway.KindGateway), gatewayv1.Namespace(g.Namespace)
	return gatewayv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: gatewayv1.ObjectName(g.Name)}
}

// servedElsewhere reports whether another router of Fairlead serves the Gateway of an entry, and
// so writes it.
func (s *StatusWriter) servedElsewhere(ref *gatewayv1.ParentReference) bool {
	if ref.Namespace == nil {
		return false
	}
	g := s.watcher.gateways.objects.get(model.Object{Kind: gateway.KindGateway, Namespace: string(*ref.Namespace), Name: string(ref.Name)})
	if g == nil {
		return false
	}
	router := s.watcher.routerOf(g)
	return router != "" && router != s.watcher.name
}

// withTLSAncestors returns the entries of a policy's status with what a router says of it for
// some Gateways, and whether that is a difference.
func withTLSAncestors(current jsontext.Value, wanted []gatewayv1.ParentReference, s *model.RouteStatus, others func(*gatewayv1.ParentReference) bool, now metav1.Time) ([]json.RawMessage, bool, error) {
	e := entries[gatewayv1.PolicyAncestorStatus]{
		fields: func(e *gatewayv1.PolicyAncestorStatus) (*gatewayv1.ParentReference, *gatewayv1.GatewayController, *[]metav1.Condition) {
			return &e.AncestorRef, &e.ControllerName, &e.Conditions
		},
		wanted: wanted, conditions: func(int) []model.StatusCondition { return s.Conditions },
		generation: s.Generation, most: maxAncestors, others: others, now: now,
	}
	return e.merge(current)
}
