package kube

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// All implements door.Source.
func (w *Watcher) All() []model.Object {
	s := w.selection.Load()
	var keys []model.Object
	w.routes.each(func(key model.Object, r *routev1.Route) bool {
		if s.selects(r) && w.Namespace(key.Namespace) != nil {
			keys = append(keys, key)
		}
		return true
	})
	return append(keys, w.allGateways()...)
}

// Object implements door.Source.
func (w *Watcher) Object(key model.Object) door.Version {
	if key.Kind != route.Kind {
		return w.gatewayObject(key)
	}
	if r := w.Route(key); r != nil {
		return r
	}
	return nil
}

// Route returns a route that the selectors match, or nil. Routes of a namespace that is
// not known yet wait for it.
func (w *Watcher) Route(key model.Object) *routev1.Route {
	r := w.routes.get(key)
	if r == nil || !w.selection.Load().selects(r) || w.Namespace(key.Namespace) == nil {
		return nil
	}
	return r
}

// Service implements door.Source.
func (w *Watcher) Service(key model.Object) *backend.Service { return w.services.get(key) }

// Slices implements door.Source.
func (w *Watcher) Slices(service model.Object) []*backend.Slice {
	return w.slices.group(service)
}

// Secret implements door.Source. The error is a *NamedError.
func (w *Watcher) Secret(key model.Object) (*corev1.Secret, error) { return w.secrets.get(key) }

// ConfigMap implements door.Source. The error is a *NamedError.
func (w *Watcher) ConfigMap(key model.Object) (*policy.ConfigMap, error) {
	return w.configMaps.get(key)
}
