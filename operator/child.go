package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// childMeta returns the metadata of a child in the namespace of the routers.
func childMeta(ic, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: api.OperandNamespace,
		Name:      name,
		Labels:    map[string]string{api.LabelOwningIngressController: ic},
	}
}

func withOwner(labels map[string]string, ic string) map[string]string {
	merged := maps.Clone(labels)
	merged[api.LabelOwningIngressController] = ic
	return merged
}

// ownedBy makes an object go when the Deployment goes. The IngressController
// itself cannot be the owner, because it lives in another namespace.
//
// The Services that clients reach from outside have no owner: whoever deletes
// the Deployment by hand gets it back a moment later, and must not lose the
// address meanwhile. The finalizer deletes them.
func ownedBy[T client.Object](object T, d *appsv1.Deployment) T {
	if d != nil && d.UID != "" {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: appsv1.SchemeGroupVersion.String(),
			Kind:       "Deployment",
			Name:       d.Name,
			UID:        d.UID,
			Controller: new(true),
		}})
	}
	return object
}

// mergeMeta adds the desired labels, annotations and owners to the live ones
// and reports whether that changed anything. What others added stays.
func mergeMeta(live, desired *metav1.ObjectMeta) bool {
	changed := mergeMap(&live.Labels, desired.Labels)
	if mergeMap(&live.Annotations, desired.Annotations) {
		changed = true
	}
	if len(desired.OwnerReferences) > 0 && !equality.Semantic.DeepEqual(live.OwnerReferences, desired.OwnerReferences) {
		live.OwnerReferences = desired.OwnerReferences
		changed = true
	}
	return changed
}

func mergeMap(live *map[string]string, desired map[string]string) bool {
	changed := false
	for k, v := range desired {
		if old, ok := (*live)[k]; ok && old == v {
			continue
		}
		if *live == nil {
			*live = map[string]string{}
		}
		(*live)[k] = v
		changed = true
	}
	return changed
}

// fingerprint returns a short hash of a value.
func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // API types can always be marshalled.
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// derives reports whether live has everything that desired sets. Fields that
// desired leaves empty may have the defaults of the API server, but for
// numbers and booleans: they must be set wherever the default is not zero.
func derives(desired, live any) bool {
	return equality.Semantic.DeepDerivative(desired, live)
}

// conflictError says that an object of the needed name belongs to somebody else.
type conflictError struct {
	kind, namespace, name string
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("a conflicting %s %s exists in namespace %q that is not owned by the IngressController; delete it or rename the IngressController",
		e.kind, e.name, e.namespace)
}

// child is one object that the reconciler keeps in the desired state.
type child[T client.Object] struct {
	// ic is the name of the IngressController that it belongs to.
	ic string
	// empty is a new, zero object of its type.
	empty T
	// desired is what it shall be; only the name matters if it is not wanted.
	desired T
	// unwanted means that it shall not exist.
	unwanted bool
	// changed returns the live object brought in line, and whether that is a change.
	changed func(live, desired T) (T, bool)
}

// ensure creates, updates or deletes a child and returns it as it is then.
func ensure[T client.Object](ctx context.Context, r *Reconciler, c child[T]) (T, error) {
	live := c.empty
	err := r.client.Get(ctx, client.ObjectKeyFromObject(c.desired), live)
	if client.IgnoreNotFound(err) != nil {
		return live, fmt.Errorf("read %T %s: %w", live, client.ObjectKeyFromObject(c.desired), err)
	}
	return ensureFrom(ctx, r, c, live, err == nil)
}

// ensureFrom is ensure for a desired object that was made from the live one, as
// the caller read it, if it was there. Had it been read again here, what
// somebody wrote in between would be overwritten unseen; so the API server
// refuses the write, and the next turn begins anew.
func ensureFrom[T client.Object](ctx context.Context, r *Reconciler, c child[T], live T, there bool) (T, error) {
	kind := fmt.Sprintf("%T", c.desired)
	if gvk, err := r.client.GroupVersionKindFor(c.desired); err == nil {
		kind = gvk.Kind
	}
	key := client.ObjectKeyFromObject(c.desired)
	switch {
	case !there && c.unwanted:
		return c.empty, nil
	case !there:
		if err := r.client.Create(ctx, c.desired); err != nil {
			return c.empty, fmt.Errorf("create %s %s: %w", kind, key, err)
		}
		r.options.Log.Info("created", "kind", kind, "object", key.String())
		return c.desired, nil
	case live.GetLabels()[api.LabelOwningIngressController] != c.ic:
		if c.unwanted {
			return live, nil
		}
		return live, &conflictError{kind: kind, namespace: key.Namespace, name: key.Name}
	case c.unwanted:
		if err := r.client.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return live, fmt.Errorf("delete %s %s: %w", kind, key, err)
		}
		r.options.Log.Info("deleted", "kind", kind, "object", key.String())
		return live, nil
	}
	updated, changed := c.changed(live, c.desired)
	if !changed {
		return live, nil
	}
	if err := r.client.Update(ctx, updated); err != nil {
		return live, fmt.Errorf("update %s %s: %w", kind, key, err)
	}
	r.options.Log.Info("updated", "kind", kind, "object", key.String())
	return updated, nil
}
