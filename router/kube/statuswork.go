package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// work is what is to be done about one route.
type work struct {
	key model.Object
	// route is the newest known object, not to be changed.
	route *routev1.Route
	// ingress is the status to write; differs tells whether it is a change.
	ingress []routev1.RouteIngress
	differs bool
	// opinion is nil if the router's entry is to be removed.
	opinion *desired
	status  verdict
	// repair is true if the router has nothing new to say.
	repair bool
	// pause is the time to wait before writing.
	pause time.Duration
}

// process brings one route's status and events up to date.
func (s *StatusWriter) process(ctx context.Context, q queue, key model.Object) {
	w, due := s.plan(key)
	if !due {
		q.Forget(key)
		return
	}
	if w.pause > 0 {
		q.AddAfter(key, w.pause)
	} else if w.differs && !s.update(ctx, q, w) {
		return
	}
	q.Forget(key)
	if w.opinion != nil && !s.writeEvents(w) {
		// The rate of events is used up; spread the rest.
		q.AddAfter(key, wait.Jitter(5*time.Second, 3))
	}
}

// plan compares the newest object with the newest opinion.
func (s *StatusWriter) plan(key model.Object) (work, bool) {
	stored := s.watcher.routes.get(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.ahead[key]; ok {
		if a.holds(stored) {
			stored = a.route
		} else {
			delete(s.ahead, key)
		}
	}
	w := work{key: key, route: stored}
	if stored == nil {
		return w, false
	}
	d := s.desired[key]
	if s.watcher.selection.Load().excludes(stored) {
		w.ingress, w.differs = withoutEntry(stored.Status.Ingress, s.watcher.name)
		return w, true
	}
	// Another UID is another route: its own opinion will follow.
	if d == nil || d.status.UID != string(stored.UID) {
		return w, false
	}
	w.opinion, w.status = d, d.status
	w.ingress, w.differs = withEntry(stored.Status.Ingress,
		wantedEntry(s.watcher.name, s.canonical, d.status), metav1.Now().Rfc3339Copy())
	switch {
	case w.differs && d.urgent:
		w.pause = s.pace.wait(d.paced, time.Now())
	case w.differs:
		w.repair, w.pause = true, repairPause-time.Since(d.repaired)
	}
	if !w.differs {
		d.urgent = false
	}
	if !d.judged && !w.differs {
		// Somebody, perhaps this router before a restart, has already said the
		// same about this route, and reported the findings with it.
		d.reported = grave(d.status.Findings)
	}
	d.judged = true
	return w, true
}

// holds reports whether the answer is newer than the stored object.
func (a ahead) holds(stored *routev1.Route) bool {
	return stored != nil && stored.UID == a.route.UID && stored.ResourceVersion == a.base
}

// update writes the status and reports whether it was written.
func (s *StatusWriter) update(ctx context.Context, q queue, w work) bool {
	answer, err := s.put(ctx, w)
	switch {
	case err == nil:
		s.writes.Add(1)
		s.wrote(w, answer)
		return true
	case ctx.Err() != nil:
		return false
	case apierrors.IsNotFound(err):
		q.Forget(w.key)
	case apierrors.IsConflict(err):
		s.conflicts.Add(1)
		q.AddRateLimited(w.key)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		// Only a person can change that; the route is served all the same.
		s.failures.Add(1)
		s.log.errorLimited("route status refused", "route", w.key.String(), "err", err)
		q.AddAfter(w.key, wait.Jitter(time.Minute, 1))
	default:
		s.failures.Add(1)
		s.log.errorLimited("cannot write route status, retrying", "route", w.key.String(), "err", err)
		q.AddRateLimited(w.key)
	}
	return false
}

// put writes the status, and returns the route as it is then. The API server
// takes nothing but the status and asks for no more of its answer than the
// version: the route itself may have a megabyte.
func (s *StatusWriter) put(ctx context.Context, w work) (*routev1.Route, error) {
	body := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.route.Namespace, Name: w.route.Name, UID: w.route.UID, ResourceVersion: w.route.ResourceVersion},
		Status:     routev1.RouteStatus{Ingress: w.ingress},
	}
	text, err := s.watcher.clients.route.Put().
		Namespace(body.Namespace).Resource("routes").Name(body.Name).SubResource("status").
		SetHeader("Accept", onlyMetadata).Body(body).Do(ctx).Raw()
	if err != nil {
		return nil, err // as it is: the caller looks at it
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read the answer to a status: %w", err)
	}
	written := *w.route
	written.ResourceVersion, written.Status = answer.ResourceVersion, body.Status
	return &written, nil
}

// onlyMetadata asks for an answer without the object's spec and status.
const onlyMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

func (s *StatusWriter) wrote(w work, answer *routev1.Route) {
	a := ahead{base: w.route.ResourceVersion, route: answer}
	stored := s.watcher.routes.get(w.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	// If the object came from an earlier answer, the store is older still.
	if last, ok := s.ahead[w.key]; ok && last.route == w.route {
		a.base = last.base
	}
	if a.holds(stored) {
		s.ahead[w.key] = a
	} else {
		delete(s.ahead, w.key)
	}
	if w.opinion != nil {
		w.opinion.paced = s.pace.next(w.opinion.paced, time.Now())
		if w.repair {
			w.opinion.repaired = time.Now()
		}
		if w.opinion.status.equal(&w.status) {
			w.opinion.urgent = false
		}
	}
}

// writeEvents makes events of findings that are new, and reports false if some have
// to wait. Findings that disappear make no event.
func (s *StatusWriter) writeEvents(w work) bool {
	s.mu.Lock()
	reported := w.opinion.reported
	s.mu.Unlock()
	said, complete := s.tell(corev1.ObjectReference{
		APIVersion: routev1.GroupVersion.String(), Kind: "Route",
		Namespace: w.key.Namespace, Name: w.key.Name,
		UID: w.route.UID, ResourceVersion: w.route.ResourceVersion,
	}, w.status.Findings, reported)
	s.mu.Lock()
	w.opinion.reported = said
	s.mu.Unlock()
	return complete
}

// tell makes events of findings about an object that were not reported, and returns those that
// are reported now; complete is false if some have to wait.
func (s *StatusWriter) tell(about corev1.ObjectReference, findings, reported []api.Finding) (said []api.Finding, complete bool) {
	for _, f := range grave(findings) {
		if !slices.Contains(reported, f) {
			if !s.mayWriteEvent(about.Namespace) {
				return said, false
			}
			s.eventsWritten.Add(1)
			s.events.warn(about, string(f.Reason), shorten(f.Text()))
		}
		said = append(said, f)
	}
	return said, true
}

func (s *StatusWriter) mayWriteEvent(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budget.take(namespace)
}

// grave returns the findings that are worth an event.
func grave(findings []api.Finding) []api.Finding {
	var result []api.Finding
	for _, f := range findings {
		if f.Severity == api.SeverityError || f.Severity == api.SeverityWarning {
			result = append(result, f)
		}
	}
	return result
}

// shorten cuts a text to what the API server takes as the message of an event.
func shorten(text string) string {
	const most = 1024
	if len(text) <= most {
		return text
	}
	return text[:most-4] + " ..."
}
