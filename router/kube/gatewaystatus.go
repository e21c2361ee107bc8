package kube

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// gatewayWork is what is to be done about one object of the Gateway API.
type gatewayWork struct {
	key    model.Object
	object metav1.Object
	// patch is what to write, nil for nothing.
	patch []byte
	kind  types.PatchType
}

// processGateway brings the status and the events of one object up to date.
func (s *StatusWriter) processGateway(ctx context.Context, q queue, key model.Object) {
	g := &s.gateways
	g.mu.Lock()
	o, status, pause, changes := g.desired[key], model.RouteStatus{}, time.Duration(0), 0
	var attached attachments
	if o != nil {
		status, attached, changes = o.status, g.attachedTo(key), o.changes
		switch since := time.Since(o.written); {
		case hasListeners(key.Kind):
			pause = gatewayWritePause - since
		case o.urgent:
			pause = s.pace.wait(o.paced, time.Now())
		default:
			pause = repairPause - since
		}
	}
	shown := status
	hold, lacking := s.listenersOfAll(key, o, &shown)
	g.mu.Unlock()
	if hold > 0 {
		q.AddAfter(key, hold)
		return
	}
	if lacking {
		defer q.AddAfter(key, replicaAgain)
	}
	w, err := s.gatewayWork(key, o != nil, &shown, attached)
	switch {
	case err != nil:
		s.failures.Add(1)
		s.log.errorLimited("cannot compute a status", "object", key.String(), "err", err)
	case w.object == nil:
	case w.patch != nil && pause > 0:
		q.AddAfter(key, pause)
		return
	case w.patch != nil && !s.putGateway(ctx, q, w):
		return
	}
	q.Forget(key)
	if o == nil || w.object == nil {
		return
	}
	g.mu.Lock()
	if !o.judged && w.patch == nil {
		o.reported = grave(status.Findings) // said before, perhaps by another replica
	}
	o.judged = true
	if w.patch != nil {
		o.written = time.Now()
		o.paced = s.pace.next(o.paced, o.written)
	}
	o.wrote(changes)
	g.mu.Unlock()
	if !s.gatewayEvents(o, w, status.Findings) {
		q.AddAfter(key, wait.Jitter(5*time.Second, 3))
	}
}

// attachments are what is attached to a Gateway or ListenerSet: to each listener some routes.
type attachments struct {
	routes map[string]int32
	sets   int32
	// parents are what has routes to the Services of a BackendTLSPolicy.
	parents []model.Object
}

// attachedTo counts what is attached to a Gateway or ListenerSet, or uses a BackendTLSPolicy.
// The caller holds mu.
func (g *gatewayReports) attachedTo(key model.Object) attachments {
	if key.Kind == gateway.KindBackendTLSPolicy {
		return attachments{parents: g.parentsOf(key)}
	}
	if !hasListeners(key.Kind) {
		return attachments{}
	}
	counts := map[string]int32{}
	for l := range g.desired[key].status.Listeners {
		name := g.desired[key].status.Listeners[l].Name
		counts[name] = g.attached[listenerName{key, name}]
	}
	return attachments{routes: counts, sets: g.sets[key]}
}

func hasListeners(k model.Kind) bool { return k == gateway.KindGateway || k == gateway.KindListenerSet }

// gatewayWork compares the newest object with an opinion. The object is nil if there is
// nothing to say about it: it is gone, or the opinion is about another version of it.
func (s *StatusWriter) gatewayWork(key model.Object, known bool, status *model.RouteStatus, attached attachments) (gatewayWork, error) {
	now := metav1.Now().Rfc3339Copy()
	if key.Kind == gateway.KindBackendTLSPolicy {
		return s.tlsPolicyWork(key, known, status, attached.parents, now)
	}
	if !hasListeners(key.Kind) {
		r := s.watcher.gateways.route(key)
		if r == nil || known && (status.UID != string(r.GetUID()) || status.Generation != r.GetGeneration()) || !known && s.watcher.attached(r) {
			return gatewayWork{}, nil
		}
		status.Generation = r.GetGeneration()
		return s.routeWork(key, r, status, now)
	}
	if key.Kind == gateway.KindListenerSet {
		return s.setWork(key, known, status, attached, now)
	}
	stored := s.watcher.gateways.objects.get(key)
	if stored == nil || !known || status.UID != string(stored.UID) || status.Generation != stored.Generation {
		return gatewayWork{}, nil
	}
	listeners, differs := withListeners(stored.Status.Listeners, status, attached.routes, now)
	conditions, others := withConditions(gatewayConditions(stored.Status.Conditions), status.Conditions, status.Generation, now)
	w := gatewayWork{key: key, object: stored, kind: types.ApplyPatchType}
	if n := stored.Status.AttachedListenerSets; !differs && !others && attached.sets == valueOf(n) {
		return w, nil
	}
	var err error
	content := map[string]any{"listeners": listeners}
	if len(conditions) > 0 {
		content["conditions"] = conditions
	}
	if attached.sets > 0 {
		content["attachedListenerSets"] = attached.sets
	}
	w.patch, err = statusPatch(key, stored.UID, content)
	return w, err
}

// gatewayConditions returns those that the routers write; the operator writes the others.
func gatewayConditions(all []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool { return c.Type != string(gatewayv1.GatewayConditionResolvedRefs) })
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// statusPatch applies what is the routers' of the status of a Gateway or ListenerSet.
func statusPatch(key model.Object, uid types.UID, status map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{ //nolint:wrapcheck // the caller says of what
		"apiVersion": gatewayv1.GroupVersion.String(), "kind": string(key.Kind),
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name, "uid": uid},
		"status":   status,
	})
}

func (s *StatusWriter) routeWork(key model.Object, r *gatewayRoute, status *model.RouteStatus, now metav1.Time) (gatewayWork, error) {
	others := func(ref *gatewayv1.ParentReference) bool {
		name, ok := gateway.Parent(ref, r.GetNamespace())
		if !ok || !slices.ContainsFunc(r.refs, func(p gatewayv1.ParentReference) bool {
			named, possible := gateway.Parent(&p, r.GetNamespace())
			return possible && named == name
		}) {
			return false
		}
		g := s.watcher.gatewayOf(name)
		if g == nil {
			return false
		}
		router := s.watcher.routerOf(g)
		return router != "" && router != s.watcher.name
	}
	parents, differs, err := withParents(r.parents, status, others, now)
	w := gatewayWork{key: key, object: r, kind: types.MergePatchType}
	if err != nil || !differs {
		return w, err
	}
	if parents == nil {
		parents = []json.RawMessage{} // which the CustomResourceDefinition demands
	}
	w.patch, err = json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.GetUID(), "resourceVersion": r.GetResourceVersion()},
		"status":   map[string]any{"parents": parents},
	})
	return w, err //nolint:wrapcheck // the caller says of what
}

// withListeners returns what is to stand in the status of a Gateway about its listeners,
// and whether that is a difference.
func withListeners(current []gatewayv1.ListenerStatus, s *model.RouteStatus, attached map[string]int32, now metav1.Time) (out []gatewayv1.ListenerStatus, differs bool) {
	differs = len(current) != len(s.Listeners)
	for _, l := range s.Listeners {
		next := gatewayv1.ListenerStatus{Name: gatewayv1.SectionName(l.Name), AttachedRoutes: attached[l.Name], SupportedKinds: []gatewayv1.RouteGroupKind{}}
		for _, kind := range l.Kinds {
			group := gatewayv1.Group(gatewayv1.GroupName)
			next.SupportedKinds = append(next.SupportedKinds, gatewayv1.RouteGroupKind{Group: &group, Kind: gatewayv1.Kind(kind)})
		}
		var before []metav1.Condition
		at := slices.IndexFunc(current, func(c gatewayv1.ListenerStatus) bool { return c.Name == next.Name })
		if at >= 0 {
			before = ourConditions(current[at].Conditions, l.Conditions)
		}
		var changed bool
		next.Conditions, changed = withConditions(before, l.Conditions, s.Generation, now)
		differs = differs || changed || at < 0 || current[at].AttachedRoutes != next.AttachedRoutes || !sameKinds(current[at].SupportedKinds, l.Kinds)
		out = append(out, next)
	}
	return out, differs
}

// ourConditions leaves conditions of others out: they have another field manager. What is said
// only while it is true stays ours, so that it goes.
func ourConditions(all []metav1.Condition, ours []model.StatusCondition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool {
		return c.Type != string(gatewayv1.ListenerConditionOverlappingTLSConfig) && !slices.ContainsFunc(ours, func(o model.StatusCondition) bool { return o.Type == c.Type })
	})
}

func sameKinds(current []gatewayv1.RouteGroupKind, kinds []string) bool {
	return slices.EqualFunc(current, kinds, func(c gatewayv1.RouteGroupKind, kind string) bool { return string(c.Kind) == kind })
}

// gatewayResources are the names of the kinds in requests.
var gatewayResources = map[model.Kind]string{gateway.KindGateway: "gateways", gateway.KindListenerSet: "listenersets", gateway.KindHTTPRoute: "httproutes", gateway.KindGRPCRoute: "grpcroutes", gateway.KindBackendTLSPolicy: "backendtlspolicies", gateway.KindTLSRoute: "tlsroutes", gateway.KindTCPRoute: "tcproutes", gateway.KindUDPRoute: "udproutes"}

// putGateway writes a status and reports whether it was written.
func (s *StatusWriter) putGateway(ctx context.Context, q queue, w gatewayWork) bool {
	request := s.watcher.clients.gateway.Patch(w.kind).Namespace(w.key.Namespace).Resource(gatewayResources[w.key.Kind]).
		Name(w.key.Name).SubResource("status").SetHeader("Accept", onlyMetadata).Body(w.patch)
	if w.kind == types.ApplyPatchType {
		request = request.Param("fieldManager", "fairlead-router").Param("force", "true")
	}
	err := request.Do(ctx).Error()
	switch {
	case err == nil:
		s.writes.Add(1)
		return true
	case ctx.Err() != nil:
		return false
	case apierrors.IsNotFound(err):
		q.Forget(w.key)
	case apierrors.IsConflict(err):
		s.conflicts.Add(1)
		q.AddRateLimited(w.key)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		s.failures.Add(1)
		s.log.errorLimited("status refused", "kind", string(w.key.Kind), "object", w.key.String(), "err", err)
		q.AddAfter(w.key, wait.Jitter(time.Minute, 1))
	default:
		s.failures.Add(1)
		s.log.errorLimited("cannot write a status, retrying", "kind", string(w.key.Kind), "object", w.key.String(), "err", err)
		q.AddRateLimited(w.key)
	}
	return false
}

// gatewayEvents makes events of findings that are new, and reports false if some have to
// wait.
func (s *StatusWriter) gatewayEvents(o *gatewayOpinion, w gatewayWork, findings []api.Finding) bool {
	g := &s.gateways
	g.mu.Lock()
	reported := o.reported
	g.mu.Unlock()
	said, complete := s.tell(corev1.ObjectReference{
		APIVersion: gatewayv1.GroupVersion.String(), Kind: string(w.key.Kind),
		Namespace: w.key.Namespace, Name: w.key.Name, UID: w.object.GetUID(), ResourceVersion: w.object.GetResourceVersion(),
	}, findings, reported)
	g.mu.Lock()
	o.reported = said
	g.mu.Unlock()
	return complete
}
