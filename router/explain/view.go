package explain

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// View is what manifests that are all there is (Objects.Complete) are to a router:
// completed as the API server does, with Routes for Ingresses as the operator makes
// them, and chosen by the router's selectors. It never changes.
type View struct{ snapshot *Snapshot }

// NewView returns the view of a set of objects. What has not changed since the view
// before it, which may be nil, is taken from there: the same pointer means the same
// Route.
func NewView(o *Objects, opts Options, before *View) (*View, error) {
	o.Offline, o.Complete = true, true
	s := &Snapshot{objects: o, options: opts}
	if err := s.chooseController(); err != nil {
		return nil, err
	}
	s.refusal()
	s.settings.Domain = domainOf(s.options.Domain, s.controller)
	var former *source
	if before != nil && before.snapshot.settings.Domain == s.settings.Domain {
		former = before.snapshot.source
	}
	if err := s.readObjects(former); err != nil {
		return nil, err
	}
	if former != nil {
		for key, r := range s.source.routes {
			if old := former.routes[key]; old != nil && old != r && equality.Semantic.DeepEqual(old, r) {
				s.source.routes[key] = old
			}
		}
	}
	return &View{s}, nil
}

// Source gives a pipeline the objects.
func (v *View) Source() door.Source { return v.snapshot.source }

// IngressController is the router's own, or nil. Its spec is one that is not refused,
// if any is known.
func (v *View) IngressController() *operatorv1.IngressController { return v.snapshot.controller }

// Domain is that of generated hosts, or empty.
func (v *View) Domain() string { return v.snapshot.settings.Domain }

// Findings are those about Ingresses and the IngressController.
func (v *View) Findings() []api.Finding { return v.snapshot.allFindings() }

// Notes say in words what is not as a reader may expect.
func (v *View) Notes() []string { return v.snapshot.Notes() }

// Changed lists the Routes of which two views differ, those that begin or cease to be
// selected included.
func (v *View) Changed(before *View) model.Objects {
	changed := model.Objects{}
	note := func(key model.Object) {
		if v.snapshot.source.Object(key) != before.snapshot.source.Object(key) {
			changed[key] = struct{}{}
		}
	}
	for key := range v.snapshot.source.selected {
		note(key)
	}
	for key := range before.snapshot.source.selected {
		note(key)
	}
	return changed
}
