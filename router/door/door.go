// Package door is what the front doors have in common: where they read objects
// from, and what is said about all objects of a router. It is pure.
package door

import (
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// Source gives the objects as the API server last reported them. Callers must
// not change what they get. A missing object is nil. Several goroutines may ask
// at a time.
type Source interface {
	// Routes lists the keys of all routes that this router's selectors match.
	Routes() []model.Key
	// Route returns a route that the selectors match.
	Route(model.Key) *routev1.Route
	Service(model.Key) *backend.Service
	// Slices returns the EndpointSlices of a Service, in any order.
	Slices(service model.Key) []*backend.Slice
	// Secret returns a Secret that a route names, or why it cannot be read.
	Secret(model.Key) (*corev1.Secret, error)
}

// Changes are the keys of objects that may differ from what was last ingested.
type Changes struct {
	Routes   map[model.Key]struct{}
	Services map[model.Key]struct{}
	Secrets  map[model.Key]struct{}
	// Endpoints are routes of which only what their Services lead to may differ.
	Endpoints map[model.Key]struct{}
	// All asks for everything to be ingested again, as after new settings.
	All bool
}

// Empty reports whether nothing changed.
func (c Changes) Empty() bool {
	return !c.All && len(c.Routes) == 0 && len(c.Services) == 0 && len(c.Secrets) == 0 && len(c.Endpoints) == 0
}
