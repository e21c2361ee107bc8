package speaker

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

// cached is something that is kept of what the API server has, such as
// servicecache.Cache.
type cached interface {
	Run(ctx context.Context)
	Wait(ctx context.Context) error
}

// waitSource is a source that has a controller wait until a cache is complete. It
// makes no requests.
type waitSource[request comparable] struct{ cached }

// Start implements source.TypedSource.
func (waitSource[request]) Start(context.Context, workqueue.TypedRateLimitingInterface[request]) error {
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (s waitSource[request]) WaitForSync(ctx context.Context) error { return s.Wait(ctx) }

// runSource is the same, and runs the cache.
type runSource[request comparable] struct{ cached }

// Start implements source.TypedSource.
func (s runSource[request]) Start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[request]) error {
	go s.Run(ctx)
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (s runSource[request]) WaitForSync(ctx context.Context) error { return s.Wait(ctx) }
