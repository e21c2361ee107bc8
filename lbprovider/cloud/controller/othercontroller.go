package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// otherRecheck is how long it is believed whether another controller runs.
const otherRecheck = time.Minute

// leaseStale is how long after its last renewal a Lease shows that no leader runs.
// Leaders renew it every few seconds; clocks may differ.
const leaseStale = 2 * time.Minute

// otherController finds out whether a controller runs that takes Services with our
// finalizers for its own. Its leader holds a Lease of a known name, in any namespace.
type otherController struct {
	reader client.Reader
	lease  string
	now    func() time.Time

	mu     sync.Mutex // guards what follows
	looked time.Time
	found  string
}

// running returns the Lease that shows that the controller runs, as
// "namespace/name", or "". The answer may be a minute old.
func (v *otherController) running(ctx context.Context) (string, error) {
	if v.lease == "" {
		return "", nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if !v.looked.IsZero() && now.Sub(v.looked) < otherRecheck {
		return v.found, nil
	}
	list := &coordinationv1.LeaseList{}
	if err := v.reader.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: v.lease}); err != nil {
		return "", fmt.Errorf("look for the Lease %s of another controller: %w", v.lease, err)
	}
	v.looked, v.found = now, ""
	for _, l := range list.Items {
		if held(&l, now) {
			v.found = l.Namespace + "/" + l.Name
		}
	}
	return v.found, nil
}

// held reports whether a leader holds a Lease and renews it.
func held(l *coordinationv1.Lease, now time.Time) bool {
	return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.RenewTime != nil && now.Sub(l.Spec.RenewTime.Time) < leaseStale
}

// reportOther says in the status that nothing is made, because another controller
// would delete it.
func (r *reconciler) reportOther(ctx context.Context, service *corev1.Service, lease string) error {
	return r.write(ctx, service, verdict{
		ready: metav1.ConditionFalse, reason: api.ReasonRivalRuns, message: otherMessage(lease) + "; no load balancer is made until it has stopped",
		progressing: metav1.ConditionFalse, change: api.ReasonRivalRuns,
	})
}

// warnings are those about a load balancer that exists, besides the hook's.
func (r *reconciler) warnings(ctx context.Context, spec *hook.Spec, targets []hook.TargetHealth) []hook.Problem {
	list := unavailable(spec, targets)
	if lease, err := r.other.running(ctx); err == nil && lease != "" {
		list = append(list, hook.Problem{Reason: string(api.ReasonRivalRuns), Message: otherMessage(lease)})
	}
	return list
}

func otherMessage(lease string) string {
	return "another controller runs, which may delete this load balancer, because it takes what has its tags and its finalizer for its own: it renews the Lease " + lease
}
