package servicemonitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
)

// Keeper remembers whether the cluster has ServiceMonitors.
type Keeper struct {
	mu    sync.Mutex
	Kinds meta.RESTMapper
	there bool
	asked time.Time
}

// exist asks the API server again after a while, if they did not.
func (m *Keeper) exist(now time.Time, again time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.there || now.Sub(m.asked) < again {
		return m.there, nil
	}
	_, err := m.Kinds.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err == nil:
		m.there = true
	case meta.IsNoMatchError(err):
		m.asked = now
	default:
		return false, fmt.Errorf("see whether the cluster has ServiceMonitors: %w", err)
	}
	return m.there, nil
}

// Ensure writes the ServiceMonitor where there are such. It is
// not watched; changes by other programs are reverted when something else happens.
//
// Whether there are such is asked again after a while.
func (m *Keeper) Ensure(ctx context.Context, w apply.Writer, s effective.Spec, owner *appsv1.Deployment, now time.Time, again time.Duration) error {
	there, err := m.exist(now, again)
	if err != nil || !there {
		return err
	}
	desired := desired(s, owner)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	err = w.Live.Get(ctx, client.ObjectKeyFromObject(desired), live)
	switch {
	case apierrors.IsNotFound(err):
		err = w.Client.Create(ctx, desired)
	case err != nil:
	case live.GetLabels()[api.LabelOwningIngressController] != s.Name:
		return &apply.ConflictError{Kind: kind.Kind, Namespace: desired.GetNamespace(), Name: desired.GetName()}
	case equality.Semantic.DeepEqual(live.Object["spec"], desired.Object["spec"]):
		return nil
	default:
		live.Object["spec"] = desired.Object["spec"]
		err = w.Client.Update(ctx, live)
	}
	if err != nil {
		return fmt.Errorf("write ServiceMonitor %s: %w", desired.GetName(), err)
	}
	return nil
}
