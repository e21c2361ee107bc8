package pipeline

import (
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/outlier"
	"github.com/fairlead/fairlead/router/plan"
)

// outliers are the backends whose errors are counted, and which of their servers get no
// requests because of them.
type outliers struct {
	ledger   *outlier.Ledger
	backends map[string]*model.Backend
	// left are backends that are gone. One that has not come back by the end of an update
	// is forgotten: a route that changes keeps what is known of its servers.
	left map[string]struct{}
}

func newOutliers() outliers {
	return outliers{ledger: outlier.New(), backends: map[string]*model.Backend{}, left: map[string]struct{}{}}
}

func (o *outliers) add(b *model.Backend) {
	if b.Health != nil && b.Health.Passive != nil {
		o.backends[b.Name()] = b
	}
}

func (o *outliers) drop(b *model.Backend) {
	if _, watched := o.backends[b.Name()]; watched {
		delete(o.backends, b.Name())
		o.left[b.Name()] = struct{}{}
	}
}

func (o *outliers) settle() {
	for name := range o.left {
		delete(o.left, name)
		if o.backends[name] == nil {
			o.ledger.Forget(name)
		}
	}
}

// wantBackend is what HAProxy is to have of a backend.
func (p *Pipeline) wantBackend(b *model.Backend) *plan.Backend {
	return plan.WantBackend(b, func(s *model.Server, t model.ProbeTarget) bool {
		return p.probes.sick(t) || b.Health.Passive != nil && p.outliers.ledger.Ejected(b.Name(), s.Name())
	})
}

// Counted returns the backends whose errors are to be counted.
func (p *Pipeline) Counted() map[string]*model.Backend { return p.outliers.backends }

// TakeErrors takes in what HAProxy has counted of some backends, by server. It returns
// what to compare with HAProxy, and how many servers get no requests because of errors.
func (p *Pipeline) TakeErrors(counted map[string]map[string]outlier.Errors, now time.Time) (scope *plan.Scope, ejected int) {
	scope = plan.NewScope()
	for name, of := range counted {
		b := p.outliers.backends[name]
		if b == nil || !p.outliers.ledger.Take(b, of, now) {
			continue
		}
		scope.Backends[name] = struct{}{}
		p.want.Backends[name] = p.wantBackend(b)
	}
	return scope, p.outliers.ledger.Count()
}
