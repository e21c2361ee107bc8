package speaker

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// read is something that is read from the API server, such as servicecache.Facts.
type read interface {
	Run(ctx context.Context)
	Wait(ctx context.Context) error
}

// awaited has a controller wait until something is complete.
type awaited struct{ read }

// Start implements source.Source.
func (awaited) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

// WaitForSync implements source.SyncingSource.
func (a awaited) WaitForSync(ctx context.Context) error { return a.Wait(ctx) }

// feed is the same, and runs it.
type feed struct{ read }

// Start implements source.Source.
func (f feed) Start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go f.Run(ctx)
	return nil
}

// WaitForSync implements source.SyncingSource.
func (f feed) WaitForSync(ctx context.Context) error { return f.Wait(ctx) }
