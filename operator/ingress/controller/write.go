package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/door/route"
)

const (
	// turnWrites is how many Routes of an Ingress are written before others get
	// their turn, and nextTurn how long it waits for its own: the cache learns
	// meanwhile of what was written.
	turnWrites = 50
	nextTurn   = 200 * time.Millisecond
)

// mostLeft is how many Routes an Ingress may have that nothing of it asks for any
// more, before these go first. They go last otherwise; but an Ingress that changes
// again and again never came to that, and had any number of them.
const mostLeft = 2 * turnWrites

// errTurnEnds says that an Ingress has more to be written.
var errTurnEnds = errors.New("its turn ends")

const (
	// Options.Writes limits these: each write is work for all routers.
	writesBurst, writesRate = 10_000, 50
	// writesPause is how long an Ingress waits if that is used up. To find out what
	// is to be written takes longer than to write it.
	writesPause = 5 * time.Second
)

// errBudgetUsed says that an Ingress has more to be written, and its namespace has
// written too much.
var errBudgetUsed = errors.New("the namespace has written too many Routes")

// mostRefused is how many refusals of an Ingress are asked for, before what can
// wait is left for later. A quota would refuse each of a thousand Routes.
const mostRefused = 20

// turn is what is written for an Ingress before others have their turn.
type turn struct {
	// room is how many writes it has left.
	room    int
	current []*routev1.Route
	refused []api.Finding
	// skipped is how many Routes were not tried.
	skipped int
	failed  []error
}

// apply writes the Routes and deletes those that the Ingress does not stand
// for any more, in this order: a path that moves to another Route is served
// all the time. What closes a path comes first. It returns the Routes as they are then.
func (r *reconciler) apply(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route, desired []*routev1.Route) ([]*routev1.Route, []api.Finding, error) {
	var closing, others []*routev1.Route
	wanted := map[string]bool{}
	for _, d := range desired {
		if wanted[d.Name] = true; mustClose(owned[d.Name], d) {
			closing = append(closing, d)
		} else {
			others = append(others, d)
		}
	}
	t := &turn{room: turnWrites}
	end := r.writeAll(ctx, i, owned, closing, t)
	gone := replaced(owned, desired)
	if end == nil && len(gone) <= mostLeft {
		end = r.writeAll(ctx, i, owned, others, t)
	}
	switch {
	case len(gone) > mostLeft, errors.Is(end, errBudgetUsed):
		return nil, nil, worst(append(t.failed, end, r.deleteOthers(ctx, i, gone, nil, t.room)))
	case end != nil:
		return nil, nil, worst(append(t.failed, end))
	}
	if t.skipped > 0 {
		t.refused = append(t.refused, *routeFinding(i, api.ReasonRouteRefused, fmt.Sprintf("after %d refusals %d more Routes were not tried", mostRefused, t.skipped), "they stay as they are"))
	}
	return t.current, t.refused, worst(append(t.failed, r.deleteOthers(ctx, i, owned, wanted, t.room)))
}

// writeAll writes Routes within the turn, and says what ended it before all are written.
func (r *reconciler) writeAll(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route, desired []*routev1.Route, t *turn) error {
	for _, d := range desired {
		live := owned[d.Name]
		closing := mustClose(live, d)
		updated, changed := d, true
		if live != nil {
			updated, changed = ingress.Merge(i, live, d)
		}
		switch {
		case !changed:
			t.current = append(t.current, live)
		case len(t.refused) >= mostRefused && !closing:
			t.skip(live)
		case t.room <= 0:
			return errTurnEnds
		case !closing && r.options.Writes.Take(i.Namespace) > 0:
			return errBudgetUsed
		default:
			route, finding, err := r.write(ctx, i, live, updated)
			t.wrote(live, route, finding, err)
		}
	}
	return nil
}

// skip notes a Route that was not tried.
func (t *turn) skip(live *routev1.Route) {
	t.skipped++
	if live != nil {
		t.current = append(t.current, live)
	}
}

// wrote notes what came of writing a Route.
func (t *turn) wrote(live, route *routev1.Route, finding *api.Finding, err error) {
	if err != nil {
		t.failed = append(t.failed, err)
	}
	if finding != nil {
		t.refused = append(t.refused, *finding)
	}
	if route != nil {
		t.current = append(t.current, route)
	}
	if route != live || err != nil {
		t.room--
	}
}

// replaced returns the Routes that can go though desired ones are not written yet:
// their paths are of no desired Route, or of one that is there.
func replaced(owned map[string]*routev1.Route, desired []*routev1.Route) map[string]*routev1.Route {
	type hostPath struct{ host, path string }
	missing, wanted := map[hostPath]bool{}, map[string]bool{}
	for _, d := range desired {
		wanted[d.Name] = true
		if owned[d.Name] == nil {
			missing[hostPath{d.Spec.Host, d.Spec.Path}] = true
		}
	}
	gone := map[string]*routev1.Route{}
	for name, route := range owned {
		if route.DeletionTimestamp.IsZero() && !wanted[name] && !missing[hostPath{route.Spec.Host, route.Spec.Path}] {
			gone[name] = route
		}
	}
	return gone
}

// deleteOthers deletes the Routes that are not wanted, as many as there is room for.
func (r *reconciler) deleteOthers(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route, wanted map[string]bool, room int) error {
	var failed []error
	for name, route := range owned {
		if wanted[name] || !route.DeletionTimestamp.IsZero() {
			continue
		}
		if room--; room < 0 {
			return worst(append(failed, errTurnEnds))
		}
		if err := r.client.Delete(ctx, route); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("delete Route %s/%s: %w", route.Namespace, name, err))
			continue
		}
		r.options.Log.Info("deleted route of ingress", "route", route.Namespace+"/"+name, "ingress", i.Name)
	}
	return errors.Join(failed...)
}

// worst joins failures. That a turn or the budget ends counts only if nothing failed: after a
// failure the next try comes later.
func worst(failed []error) error {
	others := slices.DeleteFunc(slices.Clone(failed), func(err error) bool {
		return err == nil || errors.Is(err, errTurnEnds) || errors.Is(err, errBudgetUsed)
	})
	if len(others) == 0 {
		return errors.Join(failed...)
	}
	return errors.Join(others...)
}

// mustClose reports whether a Route lets requests through that it must not.
func mustClose(live, desired *routev1.Route) bool {
	return live != nil && route.Closed(desired) && !route.Closed(live)
}

// write creates or updates one Route. A refusal that trying again at once cannot
// heal is a finding; the live Route, if there is one, keeps serving.
func (r *reconciler) write(ctx context.Context, i *networkingv1.Ingress, live, desired *routev1.Route) (*routev1.Route, *api.Finding, error) {
	if live != nil {
		return r.update(ctx, i, live, desired)
	}
	name := desired.Namespace + "/" + desired.Name
	err := r.client.Create(ctx, desired)
	switch {
	case err == nil:
		r.options.Log.Info("created route of ingress", "route", name, "ingress", i.Name, "host", desired.Spec.Host)
		return desired, nil, nil
	case refusal(err):
		return nil, routeFinding(i, api.ReasonRouteRefused, briefly(err), "the path is not served"), nil
	case !apierrors.IsAlreadyExists(err):
		return nil, nil, fmt.Errorf("create Route %s: %w", name, err)
	}
	// Either the cache is behind, or the Route is another's.
	live = &routev1.Route{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return nil, nil, fmt.Errorf("read Route %s: %w", name, err)
	}
	if ingress.Owner(live) != i.Name {
		return nil, routeFinding(i, api.ReasonRouteNameTaken, "Route "+desired.Name+" exists and does not belong to the Ingress", "the path is not served"), nil
	}
	updated, changed := ingress.Merge(i, live, desired)
	if !changed {
		return live, nil, nil
	}
	return r.update(ctx, i, live, updated)
}

// update writes what a Route is to be in place of the one that lives.
func (r *reconciler) update(ctx context.Context, i *networkingv1.Ingress, live, updated *routev1.Route) (*routev1.Route, *api.Finding, error) {
	err := r.client.Update(ctx, updated)
	switch {
	case refusal(err) && route.Closed(updated):
		return r.close(ctx, i, live, updated, err)
	case refusal(err):
		return live, routeFinding(i, api.ReasonRouteRefused, briefly(err), "the path is served as before"), nil
	case err != nil:
		return live, nil, fmt.Errorf("update Route %s/%s: %w", live.Namespace, live.Name, err)
	}
	r.options.Log.Info("updated route of ingress", "route", live.Namespace+"/"+live.Name, "ingress", i.Name)
	return updated, nil, nil
}

// close closes a Route of which the API server refused what it is to be: as it
// is it would go on letting requests through. If it cannot be closed as it is
// either, it goes.
func (r *reconciler) close(ctx context.Context, i *networkingv1.Ingress, live, desired *routev1.Route, refused error) (*routev1.Route, *api.Finding, error) {
	finding := routeFinding(i, api.ReasonRouteRefused, briefly(refused), "the path answers 503")
	if route.Closed(live) {
		return live, finding, nil
	}
	closed := live.DeepCopy()
	closed.Spec.Port = desired.Spec.Port
	err := r.client.Update(ctx, closed)
	switch {
	case err == nil:
		return closed, finding, nil
	case !refusal(err):
		return live, nil, fmt.Errorf("close Route %s/%s: %w", live.Namespace, live.Name, err)
	}
	if err := r.client.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
		return live, nil, fmt.Errorf("delete Route %s/%s, which cannot be closed: %w", live.Namespace, live.Name, err)
	}
	finding.Effect = "the path is not served"
	return nil, finding, nil
}

// refusal reports whether the API server will say no again: by a rule, a policy
// or a quota.
func refusal(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) }

func routeFinding(i *networkingv1.Ingress, reason api.Reason, message, effect string) *api.Finding {
	return &api.Finding{
		Object: api.ObjectRef{Group: networkingv1.GroupName, Kind: "Ingress", Namespace: i.Namespace, Name: i.Name},
		Reason: reason, Message: message, Severity: api.SeverityWarning, Effect: effect,
	}
}
