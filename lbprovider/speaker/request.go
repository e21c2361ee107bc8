package speaker

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// request is what a Reconcile of the Speaker is to do. The types below are all
// that there are.
type request interface {
	isRequest()
	String() string
}

// refreshAll reads configuration, nodes and speakers, and decides about every Service.
type refreshAll struct{}

// decideService decides about one Service.
type decideService types.NamespacedName

// applyDecisions hands over to the network what was decided about Services.
type applyDecisions struct{}

// reportStatus has one protocol report what became of its announcements.
type reportStatus struct{ protocol Protocol }

func (refreshAll) isRequest()     {}
func (decideService) isRequest()  {}
func (applyDecisions) isRequest() {}
func (reportStatus) isRequest()   {}

func (refreshAll) String() string      { return "refresh all" }
func (r decideService) String() string { return "service " + types.NamespacedName(r).String() }
func (applyDecisions) String() string  { return "apply decisions" }
func (r reportStatus) String() string  { return "report status of " + r.protocol.Name() }

// requestQueue passes requests of callbacks to a controller. Those that come
// before the controller starts are dropped: it starts with one for everything.
type requestQueue struct {
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[request]]
}

// Start implements source.Source.
func (q *requestQueue) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	q.queue.Store(&queue)
	queue.Add(refreshAll{})
	return nil
}

func (q *requestQueue) add(req request) {
	if queue := q.queue.Load(); queue != nil {
		(*queue).Add(req)
	}
}
