// Package rights restores the ServiceAccount of the routers and its roles.
package rights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	manifests "github.com/fairlead/fairlead/config/rbac"
)

// Role is the name of the ClusterRole of the routers and of its binding.
const Role = "openshift-ingress-router"

// rights restores the ServiceAccount of the routers and its roles, without which
// no router starts, or a new one knows nothing.
type rights struct {
	client client.Client
	log    *slog.Logger
	wanted []client.Object
}

// Setup adds the controller to a manager. Log receives what it restores.
func Setup(mgr ctrl.Manager, log *slog.Logger) error {
	wanted, err := manifestsOf(mgr.GetScheme())
	if err != nil {
		return err
	}
	r := &rights{client: mgr.GetClient(), log: log, wanted: wanted}
	// The objects are few, so that each event looks at all of them.
	all := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if o.GetName() != api.RouterServiceAccount && o.GetName() != Role {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: Role}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("router-rights").
		Watches(&corev1.ServiceAccount{}, all).
		Watches(&rbacv1.Role{}, all).
		Watches(&rbacv1.RoleBinding{}, all).
		Watches(&rbacv1.ClusterRole{}, all).
		Watches(&rbacv1.ClusterRoleBinding{}, all).
		Complete(r)
}

// manifestsOf reads the manifests.
func manifestsOf(scheme *runtime.Scheme) ([]client.Object, error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests.Router), 4096)
	codecs := serializer.NewCodecFactory(scheme)
	var list []client.Object
	for {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				return list, nil
			}
			return nil, fmt.Errorf("read the rights of routers: %w", err)
		}
		object, err := runtime.Decode(codecs.UniversalDeserializer(), raw.Raw)
		if err != nil {
			return nil, fmt.Errorf("read the rights of routers: %w", err)
		}
		o, ok := object.(client.Object)
		if !ok {
			return nil, fmt.Errorf("read the rights of routers: %T is no object", object)
		}
		list = append(list, o)
	}
}

// Reconcile makes what is missing. What an administrator adds stays.
func (r *rights) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var failed []error
	for _, want := range r.wanted {
		if err := r.restore(ctx, want); err != nil {
			// Such as a rule that an administrator added and the operator does not
			// have: the API server lets it write the role no more.
			r.log.Error("cannot restore a right of the routers, trying again", "err", err)
			failed = append(failed, err)
		}
	}
	return reconcile.Result{}, errors.Join(failed...)
}

func (r *rights) restore(ctx context.Context, want client.Object) error {
	key := client.ObjectKeyFromObject(want)
	desired, ok := want.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T %s", want, key)
	}
	live, ok := want.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T %s", want, key)
	}
	err := r.client.Get(ctx, key, live)
	switch {
	case apierrors.IsNotFound(err):
		err = client.IgnoreAlreadyExists(r.client.Create(ctx, desired))
		if err == nil {
			r.log.Info("restored a right of the routers", "kind", fmt.Sprintf("%T", want), "object", key.String())
		}
	case err == nil && complete(live, desired):
		if err = r.client.Update(ctx, live); err == nil {
			r.log.Info("completed a right of the routers", "kind", fmt.Sprintf("%T", want), "object", key.String())
		}
	}
	if err != nil {
		return fmt.Errorf("restore %T %s: %w", want, key, err)
	}
	return nil
}

// complete adds what is missing to a live object, and reports whether it did.
func complete(live, want client.Object) bool {
	switch w := want.(type) {
	case *rbacv1.Role:
		l, ok := live.(*rbacv1.Role)
		return ok && addMissing(&l.Rules, w.Rules)
	case *rbacv1.ClusterRole:
		l, ok := live.(*rbacv1.ClusterRole)
		return ok && addMissing(&l.Rules, w.Rules)
	case *rbacv1.RoleBinding:
		l, ok := live.(*rbacv1.RoleBinding)
		return ok && addMissing(&l.Subjects, w.Subjects)
	case *rbacv1.ClusterRoleBinding:
		l, ok := live.(*rbacv1.ClusterRoleBinding)
		return ok && addMissing(&l.Subjects, w.Subjects)
	}
	return false
}

func addMissing[E any](live *[]E, want []E) bool {
	changed := false
	for _, w := range want {
		there := false
		for _, l := range *live {
			there = there || equality.Semantic.DeepEqual(l, w)
		}
		if !there {
			*live = append(*live, w)
			changed = true
		}
	}
	return changed
}
