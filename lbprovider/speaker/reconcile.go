package speaker

import (
	"cmp"
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// syncRetry is how often to look whether the other speakers are known by now.
const syncRetry = 200 * time.Millisecond

// Reconcile carries out one request.
func (s *Speaker) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	result, err := s.reconcile(ctx, req)
	s.counters.count(err)
	return result, err
}

func (s *Speaker) reconcile(ctx context.Context, req request) (result reconcile.Result, err error) {
	if r, ok := req.(reportStatus); ok {
		r.protocol.Report()
		return result, nil
	}
	if _, all := req.(refreshAll); all || s.cluster == nil {
		if result.RequeueAfter, err = s.refresh(ctx); err != nil {
			return reconcile.Result{}, err
		}
	} else if r, ok := req.(decideService); ok {
		// What is to be announced is handed over as a whole, once for all
		// Services that are waiting now.
		s.reconcileService(types.NamespacedName(r))
		s.requests.add(applyDecisions{})
		return result, nil
	}
	s.apply()
	return result, nil
}

// refresh reads configuration, nodes and the other speakers, and decides about
// every Service. It returns after which time it is to be called again, or 0.
func (s *Speaker) refresh(ctx context.Context) (again time.Duration, err error) {
	cfg, err := s.config.read(ctx)
	if err != nil {
		return 0, err
	}
	cluster, again, err := s.clusters.read(ctx, cfg)
	if err != nil {
		return 0, err
	}
	s.cluster = cluster
	s.backends.setCluster(cluster)
	var failed []error
	for _, p := range s.protocols {
		failed = append(failed, p.SetConfig(ctx, cluster))
	}
	if err := errors.Join(failed...); err != nil {
		return 0, err
	}
	for _, name := range s.services.Names() {
		s.reconcileService(name)
	}
	s.forgetDeleted()
	if !cluster.Synced {
		again = soonest(again, syncRetry)
	}
	return again, nil
}

// forgetDeleted withdraws the Services that are not in the cluster any more.
func (s *Speaker) forgetDeleted() {
	var deleted []types.NamespacedName
	for _, p := range s.protocols {
		for name := range p.Services() {
			if !s.services.Has(name) {
				deleted = append(deleted, name)
			}
		}
	}
	for _, name := range deleted {
		s.withdraw(name)
	}
}

// reconcileService asks each protocol whether this node announces the Service.
func (s *Speaker) reconcileService(name types.NamespacedName) {
	svc := s.services.Service(name)
	if svc == nil || !s.opts.Classes.Ours(svc) {
		s.withdraw(name)
		return
	}
	req := Request{Service: svc}
	if req.Addrs, req.Invalid = service.StatusAddresses(svc); req.Invalid {
		req.Addrs = nil
	}
	for _, p := range s.protocols {
		d := p.Announce(req)
		s.report(req, p, d)
		req.Served = req.Served || d.Served
	}
}

func (s *Speaker) withdraw(name types.NamespacedName) {
	s.backends.forget(name)
	for _, p := range s.protocols {
		p.Withdraw(name)
	}
}

// report puts what is new about a Service into log and events.
func (s *Speaker) report(req Request, p Protocol, d Decision) {
	if d.Changed {
		s.log.Info("decision", "service", req.Service.Namespace+"/"+req.Service.Name, "protocol", p.Name(),
			"addresses", req.Addrs, "reason", cmp.Or(d.Refusal, "announced"), "message", d.Message)
	}
	if d.Starts {
		s.events.Eventf(req.Service, corev1.EventTypeNormal, string(api.ReasonNodeAssigned),
			"announcing from node %q with protocol %q%s", s.opts.NodeName, p.Name(), d.TakenFrom)
	}
	if d.Problem != "" {
		s.events.Event(req.Service, corev1.EventTypeWarning, string(api.ReasonAnnounceFailed), d.Problem)
	}
}

// apply hands over what was decided.
func (s *Speaker) apply() {
	for _, p := range s.protocols {
		p.Apply()
		p.Report()
	}
	now := time.Now()
	s.decided.CompareAndSwap(nil, &now)
	s.backends.apply()
}
