package explain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// rowList keeps the rows of a snapshot, which are made when they are asked for.
type rowList struct {
	// routes are those of Routes, in order, and stale those that may have changed since.
	routes []*Row
	stale  model.Objects
	// gateways are those of routes of the Gateway API, and all those of both, in order; nil if
	// they are not known.
	gateways, all []*Row
	// listeners are those of Gateways and ListenerSets.
	listeners []*Row
	// namespaces are what Namespaces returns.
	namespaces []string
}

// Rows lists all Routes and all routes of the Gateway API, those of other routers included,
// by namespace and name. Neither the list nor the rows are to be changed: they are shared.
func (s *Snapshot) Rows() []*Row {
	l := &s.list
	if l.routes == nil {
		l.routes, l.stale, l.all = make([]*Row, 0, len(s.source.routes)), nil, nil
		for _, key := range s.source.keys() {
			if !s.hides(key) {
				row := s.row(key)
				l.routes = append(l.routes, &row)
			}
		}
	}
	if len(l.stale) > 0 {
		s.renewRows()
	}
	if l.gateways == nil {
		l.gateways, l.all = s.gatewayRouteRows(), nil
	}
	if l.all == nil {
		l.all = l.routes
		if len(l.gateways) > 0 {
			l.all = slices.Concat(l.routes, l.gateways)
			slices.SortStableFunc(l.all, func(a, b *Row) int {
				return cmp.Or(cmp.Compare(a.Route.Namespace, b.Route.Namespace), cmp.Compare(a.Route.Name, b.Route.Name))
			})
		}
	}
	return l.all
}

// renewRows makes the rows of Routes again that may have changed.
func (s *Snapshot) renewRows() {
	l := &s.list
	l.routes, l.all = slices.Clone(l.routes), nil
	for key := range l.stale {
		at, found := slices.BinarySearchFunc(l.routes, key, func(r *Row, key model.Object) int {
			return cmp.Or(cmp.Compare(r.Route.Namespace, key.Namespace), cmp.Compare(r.Route.Name, key.Name))
		})
		if s.source.routes[key] == nil || s.hides(key) {
			if found {
				l.routes = slices.Delete(l.routes, at, at+1)
			}
			continue
		}
		if row := s.row(key); found {
			l.routes[at] = &row
		} else {
			l.routes = slices.Insert(l.routes, at, &row)
		}
	}
	l.stale = nil
}

// gatewayRouteRows lists the routes of the Gateway API, those of other routers included.
func (s *Snapshot) gatewayRouteRows() []*Row {
	rows := []*Row{}
	g := s.gateways()
	if g == nil {
		return rows
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.objects.Gateways), compareKeys) {
		if slices.Contains(gateway.RouteKinds(), key.Kind) && !s.hides(key) {
			row := s.gatewayRouteRow(g, key)
			rows = append(rows, &row)
		}
	}
	return rows
}

// ListenerRows lists the listeners of all Gateways and ListenerSets, those of other routers
// included, as Rows does.
func (s *Snapshot) ListenerRows() []*Row {
	if s.list.listeners != nil {
		return s.list.listeners
	}
	rows := []*Row{}
	if g := s.gateways(); g != nil {
		attached := g.attached()
		for _, key := range slices.SortedFunc(maps.Keys(s.objects.Gateways), compareKeys) {
			if !slices.Contains(ListenerKinds(), string(key.Kind)) || s.hides(key) {
				continue
			}
			of := s.listenerRows(g, key, attached)
			for i := range of {
				rows = append(rows, &of[i])
			}
		}
	}
	s.list.listeners = rows
	return rows
}
