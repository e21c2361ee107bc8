package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Touched says what an update may have changed.
type Touched struct {
	// Decided counts the objects that were decided again.
	Decided int

	// all says that it may be anything, and names that there may be other namespaces.
	all, names bool
	// namespaces are those of objects that have changed, and hosts those of routes that were
	// decided again, as they were and as they are.
	namespaces, hosts map[string]struct{}
}

func newTouched() *Touched {
	return &Touched{namespaces: map[string]struct{}{}, hosts: map[string]struct{}{}}
}

// note takes in that an object has changed. Of Gateways and what is beside them, parts are shown to
// users of other namespaces.
func (t *Touched) note(c ObjectChange) {
	o := c.object()
	key := keyOf(o)
	if key.Kind == "Namespace" { // of which users of others see nothing
		t.namespaces[key.Name] = struct{}{}
		return
	}
	t.namespaces[key.Namespace] = struct{}{}
	t.names = t.names || c.Before == nil || c.Now == nil || key.Kind == door.KindService
	t.all = t.all || key.Namespace == "" || OfGatewayAPI(string(key.Kind)) && !slices.Contains(gateway.RouteKinds(), key.Kind)
}

// Concerns reports whether what Within has made of a snapshot may be another one after an update
// of that. What decides is what Within takes over: all objects of seen namespaces, and the claims
// of others for the hosts of those.
func (t *Touched) Concerns(view *Snapshot) bool {
	if t.all || view.objects.seen == nil {
		return true
	}
	for namespace := range t.namespaces {
		if view.objects.seen(namespace) {
			return true
		}
	}
	for host := range t.hosts {
		if view.rivalsOf.has(host) {
			return true
		}
	}
	return false
}

// ofGateway are hosts that Gateways serve, before and after an update, and whether anything about
// the Gateway API may have changed.
type ofGateway struct {
	hosts   map[string]struct{}
	changed bool
}

// updateGateways decides again about the Gateway API. It begins from the start where an object has
// changed on which all others may depend, if that is asked for.
func (s *Snapshot) updateGateways(changes []ObjectChange, ch door.Changes, ended model.Objects, t *Touched) (of ofGateway) {
	of.hosts = map[string]struct{}{}
	g := s.ofGateways
	addDoors(of.hosts, g)
	own := maps.Clone(ch.Objects)
	maps.Copy(own, ended)
	again := false
	for _, c := range changes {
		key := keyOf(c.object())
		if key.Kind == "Namespace" && turnsNamespace(c) && s.objects.hasGatewayObjects(key.Name) {
			again, of.changed, t.all = true, true, true
		}
		if !OfGatewayAPI(string(key.Kind)) {
			continue
		}
		of.changed = true
		again = again || !s.replaceInGateways(g, c, own)
	}
	switch {
	case !s.gatewaysRead || g == nil && !again:
		return of
	case again:
		s.ofGateways, s.gatewaysRead = nil, false
		if g = s.gateways(); g != nil {
			t.Decided += len(g.pipeline.Objects())
		}
		addDoors(of.hosts, g)
		return of
	}
	maps.DeleteFunc(own, func(key model.Object, _ struct{}) bool { return key.Kind == "Route" })
	if len(own) == 0 {
		return of
	}
	touched := g.update(own)
	of.changed = of.changed || len(touched) > 0
	t.Decided += len(touched)
	addDoors(of.hosts, g)
	return of
}

func addDoors(hosts map[string]struct{}, g *gateways) {
	if g == nil {
		return
	}
	for host := range g.doors {
		hosts[host] = struct{}{}
	}
}

// replaceInGateways takes in a change of which only routes know, and adds what the pipeline has to
// look at. It reports whether that is enough.
func (s *Snapshot) replaceInGateways(g *gateways, c ObjectChange, own model.Objects) bool {
	key := keyOf(c.object())
	if g == nil {
		return false
	}
	if onlyStatus(c) && key.Kind != "GatewayClass" {
		if g.served[key] != nil {
			g.served[key] = c.Now
		}
		return true
	}
	if !slices.Contains(gateway.RouteKinds(), key.Kind) {
		return false
	}
	own[key] = struct{}{}
	if delete(g.served, key); c.Now != nil && s.servesGatewayObject(c.Now) {
		g.served[key] = c.Now
	}
	return true
}

// onlyStatus reports whether an object has changed in nothing but its status.
func onlyStatus(c ObjectChange) bool {
	if c.Before == nil || c.Now == nil || c.Now.GetGeneration() == 0 {
		return false
	}
	return c.Before.GetUID() == c.Now.GetUID() && c.Before.GetGeneration() == c.Now.GetGeneration() &&
		maps.Equal(c.Before.GetLabels(), c.Now.GetLabels()) && maps.Equal(c.Before.GetAnnotations(), c.Now.GetAnnotations())
}

// update decides again what depends on changed objects.
func (g *gateways) update(changed model.Objects) model.Objects {
	scope, touched := g.pipeline.Update(door.Changes{Objects: changed})
	if len(touched) > 0 {
		g.takeOver(scope, touched)
	}
	g.reports.changed(policiesOf(changed))
	return touched
}

func (g *gateways) takeOver(scope *plan.Scope, touched model.Objects) {
	g.pipeline.Want().UpdateTables(g.tables, scope)
	for name := range scope.Backends {
		delete(g.byBackend, name)
	}
	g.indexClaims(touched)
	g.oldest = nil
	g.indexDoors()
}

// markRows notes which rows may have changed: those of routes that were decided again, of all
// others at their hosts, and of those that meet Gateways at theirs.
func (s *Snapshot) markRows(touched model.Objects, of ofGateway, t *Touched) {
	l := &s.list
	if t.names {
		l.namespaces = nil
	}
	if l.stale == nil {
		l.stale = model.Objects{}
	}
	for key := range touched {
		if key.Kind == "Route" {
			l.stale[key] = struct{}{}
		}
	}
	hosts := maps.Clone(t.hosts)
	if s.ofGateways != nil || of.changed {
		l.gateways, l.listeners = nil, nil
		if _, operand := t.namespaces[api.OperandNamespace]; operand || of.changed {
			maps.Copy(hosts, of.hosts) // where the router's Service has other addresses, too
		}
		for key := range s.source.ingress {
			if _, changed := t.namespaces[key.Namespace]; changed {
				l.stale[key] = struct{}{}
			}
		}
	}
	s.markHosts(hosts)
}

// markHosts notes the rows of routes at hosts.
func (s *Snapshot) markHosts(hosts map[string]struct{}) {
	wide := map[string]struct{}{}
	for host := range hosts {
		for _, key := range s.byHost[host] {
			s.list.stale[key] = struct{}{}
		}
		if host == match.Any || strings.HasPrefix(host, "*.") {
			wide[host] = struct{}{}
		}
	}
	if len(wide) == 0 {
		return
	}
	_, anyHost := wide[match.Any]
	for host, keys := range s.byHost {
		if _, covered := wide[match.Wildcard(host)]; covered || anyHost {
			for _, key := range keys {
				s.list.stale[key] = struct{}{}
			}
		}
	}
}
