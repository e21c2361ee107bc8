package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/ingress"
)

const (
	// accessSettles is how long API servers may take to learn of a right that
	// was given: each watches the Roles by itself. A refusal within this time is
	// tried again every accessRetry and not reported.
	accessSettles = 5 * time.Second
	accessRetry   = 200 * time.Millisecond
)

// granted remembers when rights were given last, by Ingress.
type granted struct {
	mu sync.Mutex
	at map[client.ObjectKey]time.Time
}

func newGranted() *granted { return &granted{at: map[client.ObjectKey]time.Time{}} }

func (g *granted) note(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at[key] = time.Now()
}

// settling reports whether API servers may not know yet of what was given.
func (g *granted) settling(key client.ObjectKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, there := g.at[key]
	if there && time.Since(at) < accessSettles {
		return true
	}
	delete(g.at, key)
	return false
}

func (g *granted) forget(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.at, key)
}

// access lets routers read Secrets for an Ingress, these and no others. Without
// any, the Role and its binding go. What only the user can put right is a
// finding.
func (r *reconciler) access(ctx context.Context, i *networkingv1.Ingress, secrets []string) (*api.Finding, error) {
	role, binding := ingress.Access(i, secrets)
	if len(secrets) == 0 {
		return nil, r.withdraw(ctx, i, binding, role)
	}
	wrote, finding, err := ensure(ctx, r, i, role, &rbacv1.Role{}, func(live *rbacv1.Role) bool {
		same := equality.Semantic.DeepEqual(live.Rules, role.Rules)
		live.Rules = role.Rules
		return same
	})
	if finding != nil || err != nil {
		return finding, err
	}
	bound, finding, err := ensure(ctx, r, i, binding, &rbacv1.RoleBinding{}, func(live *rbacv1.RoleBinding) bool {
		same := live.RoleRef == binding.RoleRef && equality.Semantic.DeepEqual(live.Subjects, binding.Subjects)
		live.RoleRef, live.Subjects = binding.RoleRef, binding.Subjects
		return same
	})
	if wrote || bound {
		r.granted.note(client.ObjectKeyFromObject(i))
	}
	return finding, err
}

// withdraw deletes what let routers read Secrets for an Ingress.
func (r *reconciler) withdraw(ctx context.Context, i *networkingv1.Ingress, objects ...client.Object) error {
	for _, object := range objects {
		key := client.ObjectKeyFromObject(object)
		err := r.client.Get(ctx, key, object)
		if apierrors.IsNotFound(err) || err == nil && ingress.Owner(object) != i.Name {
			continue
		}
		if err == nil {
			err = r.client.Delete(ctx, object)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %T %s: %w", object, key, err)
		}
	}
	return nil
}

// ensure brings an object in line, of which inLine puts right all that is not
// metadata, and reports whether it was so. It reports whether it wrote.
func ensure[T client.Object](ctx context.Context, r *reconciler, i *networkingv1.Ingress, desired, live T, inLine func(T) bool) (bool, *api.Finding, error) {
	key := client.ObjectKeyFromObject(desired)
	err := r.client.Get(ctx, key, live)
	if apierrors.IsNotFound(err) {
		if err = r.client.Create(ctx, desired); err == nil {
			return true, nil, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return refusedAccess(i, key, err)
		}
		// The cache is behind, or the object lost our label, or it is another's.
		err = r.live.Get(ctx, key, live)
	}
	if err != nil {
		return false, nil, fmt.Errorf("read %T %s: %w", live, key, err)
	}
	if ingress.Owner(live) != i.Name {
		return false, accessFinding(i, fmt.Sprintf("%T %s exists and does not belong to the Ingress", live, key.Name)), nil
	}
	labelled := live.GetLabels()[api.LabelIngressAccess] == "true"
	owned := equality.Semantic.DeepEqual(live.GetOwnerReferences(), desired.GetOwnerReferences())
	if inLine(live) && labelled && owned {
		return false, nil, nil
	}
	live.SetOwnerReferences(desired.GetOwnerReferences())
	live.SetLabels(desired.GetLabels())
	err = r.client.Update(ctx, live)
	if apierrors.IsInvalid(err) { // The role of a binding cannot be changed.
		if err := r.client.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return false, nil, fmt.Errorf("delete %T %s: %w", live, key, err)
		}
		err = r.client.Create(ctx, desired)
	}
	if err != nil {
		return refusedAccess(i, key, err)
	}
	return true, nil, nil
}

// refusedAccess recognises refusals of the API server that trying again at once
// cannot heal from others.
func refusedAccess(i *networkingv1.Ingress, key client.ObjectKey, err error) (bool, *api.Finding, error) {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return false, accessFinding(i, err.Error()), nil
	}
	return false, nil, fmt.Errorf("let routers read the Secrets of Ingress %s/%s by %s: %w", i.Namespace, i.Name, key.Name, err)
}

func accessFinding(i *networkingv1.Ingress, message string) *api.Finding {
	return &api.Finding{
		Object: api.ObjectRef{Group: networkingv1.GroupName, Kind: "Ingress", Namespace: i.Namespace, Name: i.Name},
		Field:  "spec.tls", Reason: api.ReasonCertificateAccessRefused, Message: message, Severity: api.SeverityError,
		Effect: "routers may not read the Secrets of its certificates, and Routes that refer to others than before are refused",
	}
}
