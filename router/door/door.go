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
	Routes() []model.Object
	// Route returns a route that the selectors match.
	Route(model.Object) *routev1.Route
	Service(model.Object) *backend.Service
	// Slices returns the EndpointSlices of a Service, in any order.
	Slices(service model.Object) []*backend.Slice
	// Secret returns a Secret that a route names, or why it cannot be read.
	Secret(model.Object) (*corev1.Secret, error)
}

// The kinds of objects that front doors depend on. EndpointSlices go by the Service
// that they belong to.
const (
	KindService model.Kind = "Service"
	KindSecret  model.Kind = "Secret"
)

// Changes are the objects that may differ from what was last ingested.
type Changes struct {
	// Objects are of any kind: those of front doors and those that these depend on.
	Objects model.Objects
	// Endpoints are objects of front doors of which only what their Services lead to
	// may differ.
	Endpoints model.Objects
	// All asks for everything to be ingested again, as after new settings.
	All bool
}

// Empty reports whether nothing changed.
func (c Changes) Empty() bool { return !c.All && len(c.Objects) == 0 && len(c.Endpoints) == 0 }
