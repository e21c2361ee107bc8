// Package apply writes the children of an IngressController: it reads the live
// object, asks the child's package what has to change, and writes that.
package apply

import (
	"context"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// ConflictError says that an object of the needed name belongs to another owner.
type ConflictError struct {
	Kind, Namespace, Name string
}

// Error says which object it is and what to do.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("a conflicting %s %s exists in namespace %q that is not owned by the IngressController; delete it or rename the IngressController",
		e.Kind, e.Name, e.Namespace)
}

// Child is one object that the reconciler keeps in the desired state.
type Child[T client.Object] struct {
	// IC is the name of the IngressController that it belongs to.
	IC string
	// Empty is a new, zero object of its type.
	Empty T
	// Desired is what it must be; only the name matters if it is not wanted.
	Desired T
	// Unwanted means that it must not exist.
	Unwanted bool
	// Changed returns the live object brought in line, and whether that is a change.
	Changed func(live, desired T) (T, bool)
}

// Writer reads and writes the children.
type Writer struct {
	// Client reads from a cache.
	Client client.Client
	// Live reads without a cache, for what is not worth watching.
	Live client.Reader
	// Log receives each write.
	Log *slog.Logger
}

// Ensure creates, updates or deletes a child and returns it as it is then.
func Ensure[T client.Object](ctx context.Context, w Writer, c Child[T]) (T, error) {
	live := c.Empty
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(c.Desired), live)
	if client.IgnoreNotFound(err) != nil {
		return live, fmt.Errorf("read %T %s: %w", live, client.ObjectKeyFromObject(c.Desired), err)
	}
	return EnsureFrom(ctx, w, c, live, err == nil)
}

// EnsureFrom is ensure for a desired object that was made from the live one, as
// the caller read it, if it was there. Had it been read again here, what
// another program wrote in between would be overwritten unseen; so the API server
// refuses the write, and the next reconcile starts again.
func EnsureFrom[T client.Object](ctx context.Context, w Writer, c Child[T], live T, there bool) (T, error) {
	kind := fmt.Sprintf("%T", c.Desired)
	if gvk, err := w.Client.GroupVersionKindFor(c.Desired); err == nil {
		kind = gvk.Kind
	}
	key := client.ObjectKeyFromObject(c.Desired)
	switch {
	case !there && c.Unwanted:
		return c.Empty, nil
	case !there:
		if err := w.Client.Create(ctx, c.Desired); err != nil {
			return c.Empty, fmt.Errorf("create %s %s: %w", kind, key, err)
		}
		w.Log.Info("created", "kind", kind, "object", key.String())
		return c.Desired, nil
	case live.GetLabels()[api.LabelOwningIngressController] != c.IC:
		if c.Unwanted {
			return live, nil
		}
		return live, &ConflictError{Kind: kind, Namespace: key.Namespace, Name: key.Name}
	case c.Unwanted:
		if err := w.Client.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return live, fmt.Errorf("delete %s %s: %w", kind, key, err)
		}
		w.Log.Info("deleted", "kind", kind, "object", key.String())
		return live, nil
	}
	updated, changed := c.Changed(live, c.Desired)
	if !changed {
		return live, nil
	}
	if err := w.Client.Update(ctx, updated); err != nil {
		return live, fmt.Errorf("update %s %s: %w", kind, key, err)
	}
	w.Log.Info("updated", "kind", kind, "object", key.String())
	return updated, nil
}

// Get reads an object; the result is nil if it does not exist.
func Get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, key client.ObjectKey, into P) (P, error) {
	err := reader.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}

// DeleteOwned deletes an object if it exists and belongs to the IngressController.
func DeleteOwned(ctx context.Context, w Writer, ic string, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	err := w.Client.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %T %s: %w", object, key, err)
	case object.GetLabels()[api.LabelOwningIngressController] != ic, !object.GetDeletionTimestamp().IsZero():
		return nil
	}
	err = w.Client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", object, key, err)
	}
	return nil
}
