package kube

import (
	"fmt"
	"sync/atomic"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/settings"
)

// admitted decides which spec of the IngressController holds. A router judges
// by itself, so that changes go live while the operator is away, and by the
// same rules as the operator, so that what that one refuses has no effect here.
type admitted struct {
	// stored returns the spec that the operator admitted last, or nil if that
	// is not known. It is asked when a router starts beside a refused spec.
	stored func() *operatorv1.IngressControllerSpec
	// keep receives each spec that is not refused; may be nil.
	keep func(*operatorv1.IngressControllerSpec)
	// spec is the last one that was not refused, or nil, and version tells it
	// from others. Only the goroutine that gets the events uses them.
	spec    *operatorv1.IngressControllerSpec
	version string
	// refused says why the newest spec is not in use; nil if it is.
	refused atomic.Pointer[[]api.Finding]
}

// inForce returns the IngressController with the spec that holds. Metadata and
// status are always the newest.
func (a *admitted) inForce(c *operatorv1.IngressController) *operatorv1.IngressController {
	faults := settings.Refusal(c)
	if len(faults) == 0 {
		version := fmt.Sprintf("%s/%d", c.UID, c.Generation)
		if a.keep != nil && a.version != version {
			a.keep(&c.Spec)
		}
		a.spec, a.version = &c.Spec, version
		a.refused.Store(nil)
		return c
	}
	if a.spec == nil && a.stored != nil {
		a.spec = a.stored()
	}
	effect := "the settings that were admitted last stay in use"
	if a.spec == nil {
		effect = "no earlier settings are known, so the valid ones of these are used"
	}
	for i := range faults {
		faults[i].Effect = effect
	}
	a.refused.Store(&faults)
	if a.spec == nil {
		return c
	}
	held := *c
	held.Spec = *a.spec
	return &held
}

// Refused says why the newest spec of the IngressController is not the one that
// IngressController returns; nothing if it is.
func (w *Watcher) Refused() []api.Finding {
	if r := w.admitted.refused.Load(); r != nil {
		return *r
	}
	return nil
}
