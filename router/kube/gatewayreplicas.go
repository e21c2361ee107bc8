package kube

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// Listeners are programmed once all ready replicas have them (replicas.go). A replica says of
// each listener for itself that it has it live. That it lacks one is a complaint only while the
// object says that all have it: silence says the same of others, and what tenants get wrong,
// such as certificates, must not fill the annotations.

func listenerVersion(uid, listener string, generation int64) objectVersion {
	return versionOf(uid+"/"+listener, generation)
}

// storedListeners is what the object of the API server says of its listeners.
type storedListeners struct {
	uid        string
	generation int64
	status     []gatewayv1.ListenerStatus
}

// programmed reports whether it says that all replicas have a listener of its version of now.
func (l *storedListeners) programmed(name string) bool {
	return slices.ContainsFunc(l.status, func(st gatewayv1.ListenerStatus) bool {
		c := meta.FindStatusCondition(st.Conditions, string(gatewayv1.ListenerConditionProgrammed))
		return string(st.Name) == name && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == l.generation
	})
}

// storedListeners returns nil if there is no such object.
func (s *StatusWriter) storedListeners(key model.Object) *storedListeners {
	switch key.Kind {
	case gateway.KindGateway:
		if g := s.watcher.gateways.objects.get(key); g != nil {
			return &storedListeners{string(g.UID), g.Generation, g.Status.Listeners}
		}
	case gateway.KindListenerSet:
		if set := s.watcher.gateways.sets.get(key); set != nil {
			l := &storedListeners{uid: string(set.UID), generation: set.Generation}
			for _, st := range set.Status.Listeners {
				l.status = append(l.status, gatewayv1.ListenerStatus(st))
			}
			return l
		}
	}
	return nil
}

// is reports whether an opinion is about this version.
func (l *storedListeners) is(status *model.RouteStatus) bool {
	return l != nil && l.uid == status.UID && l.generation == status.Generation
}

func hasListenerLive(l *model.ListenerStatus) bool {
	return slices.ContainsFunc(l.Conditions, func(c model.StatusCondition) bool {
		return c.Type == string(gatewayv1.ListenerConditionProgrammed) && c.True
	})
}

// reopen has this replica see whether there is something to say of an object. The caller holds
// mu.
func (g *gatewayReports) reopen(key model.Object) {
	if hasListeners(key.Kind) {
		g.open[key] = struct{}{}
		g.ring()
	}
}

// listenerWords adds what this replica has to say about listeners, and returns how many objects
// are open.
func (s *StatusWriter) listenerWords(say, withdrawn words) int {
	g := &s.gateways
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.open {
		stored, o := s.storedListeners(key), g.desired[key]
		switch {
		case stored == nil || o == nil:
			delete(g.open, key)
			continue
		case !stored.is(&o.status):
			continue // soon
		}
		settled := true
		for i := range o.status.Listeners {
			l := &o.status.Listeners[i]
			w, programmed := wordLive, stored.programmed(l.Name)
			if !hasListenerLive(l) {
				w = wordRefused
			}
			if w == wordLive || programmed {
				settled = s.replica.consider(listenerVersion(stored.uid, l.Name, stored.generation), w, programmed, say, withdrawn) && settled
			}
		}
		if settled {
			delete(g.open, key)
		}
	}
	return len(g.open)
}

// listenersOfAll puts what the other replicas say into the status of a Gateway or ListenerSet,
// and returns how long to wait for them before that is written, and whether some lack a
// listener. The caller holds mu.
func (s *StatusWriter) listenersOfAll(key model.Object, o *gatewayOpinion, status *model.RouteStatus) (hold time.Duration, lacking bool) {
	g := &s.gateways
	delete(g.lacked, key)
	if o == nil || s.namespace == "" || !hasListeners(key.Kind) {
		return 0, false
	}
	stored := s.storedListeners(key)
	_, others := s.members.now()
	if len(others) == 0 || !stored.is(status) {
		return 0, false
	}
	said, first, refused := s.spoken(), "", false
	status.Listeners = slices.Clone(status.Listeners)
	for i := range status.Listeners {
		l := &status.Listeners[i]
		if !hasListenerLive(l) {
			continue
		}
		a := agree(listenerVersion(stored.uid, l.Name, stored.generation), others, said, stored.programmed(l.Name))
		if a == (agreement{}) {
			continue
		}
		text := a.text()
		if a.refused != 0 {
			refused, text = true, fmt.Sprintf("router %s does not serve it", a.first)
		}
		l.Conditions = withoutProgrammed(l.Conditions, string(gatewayv1.ListenerReasonPending), text)
		if first == "" {
			first = fmt.Sprintf("listener %s: %s", l.Name, text)
		}
	}
	if first == "" {
		return 0, false
	}
	g.lacked[key] = struct{}{}
	status.Conditions = withoutProgrammed(status.Conditions, string(gatewayv1.ListenerSetReasonPending), first)
	if refused {
		return 0, true
	}
	return replicaWait - min(time.Since(o.since), time.Since(g.began)), true
}

// withoutProgrammed returns conditions in which Programmed is not True, if it is there at all.
func withoutProgrammed(conditions []model.StatusCondition, reason, message string) []model.StatusCondition {
	out := slices.Clone(conditions)
	for i := range out {
		if c := &out[i]; c.Type == string(gatewayv1.ListenerConditionProgrammed) && c.True {
			c.True, c.Reason, c.Message = false, reason, message
		}
	}
	return out
}

// heard looks again at the objects of which some replica lacked a listener, and at all if one
// says that it lacks something, or no longer does.
func (g *gatewayReports) heard(before, after *spoken) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if maps.Equal(before.complaints(), after.complaints()) {
		for key := range g.lacked {
			g.enqueue(key)
		}
		return
	}
	for key := range g.desired {
		if hasListeners(key.Kind) {
			g.enqueue(key)
		}
	}
}
