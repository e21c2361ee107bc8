package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
)

// configMapCopy is a ConfigMap that an IngressController names in the
// namespace of the administrators' settings, and its copy, which the routers
// mount.
type configMapCopy struct {
	// field is what names the source, which is empty if nothing does.
	field, source, target string
}

func configMapCopies(ic *operatorv1.IngressController) []configMapCopy {
	return []configMapCopy{
		{"spec.clientTLS.clientCA", ic.Spec.ClientTLS.ClientCA.Name, api.ClientCAConfigMapName(ic.Name)},
		{"spec.httpErrorCodePages", ic.Spec.HttpErrorCodePages.Name, api.ErrorPagesConfigMapName(ic.Name)},
	}
}

// missingConfigMapError says that what an IngressController names is not there.
type missingConfigMapError struct {
	copied configMapCopy
	served bool
}

func (e *missingConfigMapError) Error() string {
	effect := "nothing is used in its place"
	if e.served {
		effect = "its last copy stays in use"
	}
	return fmt.Sprintf("%s: ConfigMap %s does not exist in namespace %s; %s", e.copied.field, e.copied.source, api.ConfigNamespace, effect)
}

// ensureConfigMap keeps a copy. A source that goes away leaves its copy, for a
// deletion by mistake must not be an outage; taking the name out of the
// IngressController removes it.
func (r *Reconciler) ensureConfigMap(ctx context.Context, in *statusInput, c configMapCopy) error {
	var source *corev1.ConfigMap
	if c.source != "" {
		var err error
		key := client.ObjectKey{Namespace: api.ConfigNamespace, Name: c.source}
		if source, err = getOrNil(ctx, r.client, key, &corev1.ConfigMap{}); err != nil {
			return err
		}
		if source == nil {
			live, err := getOrNil(ctx, r.client, client.ObjectKey{Namespace: api.OperandNamespace, Name: c.target}, &corev1.ConfigMap{})
			if err != nil {
				return err
			}
			return &missingConfigMapError{copied: c, served: live != nil}
		}
	}
	_, err := ensure(ctx, r, child[*corev1.ConfigMap]{
		ic: in.ic.Name, empty: &corev1.ConfigMap{}, changed: changedConfigMap,
		desired: ownedBy(desiredConfigMap(in.ic.Name, c, source), in.deployment), unwanted: source == nil,
	})
	return err
}

// ensureAdmitted writes down the spec that has just been admitted.
func (r *Reconciler) ensureAdmitted(ctx context.Context, in *statusInput) error {
	desired, err := desiredAdmitted(in.ic)
	if err != nil {
		return err
	}
	_, err = ensure(ctx, r, child[*corev1.ConfigMap]{
		ic: in.ic.Name, empty: &corev1.ConfigMap{}, desired: ownedBy(desired, in.deployment), changed: changedConfigMap,
	})
	return err
}

// desiredAdmitted returns the ConfigMap that keeps an admitted spec for routers
// that start while a refused one stands in the IngressController.
func desiredAdmitted(ic *operatorv1.IngressController) (*corev1.ConfigMap, error) {
	spec, err := json.Marshal(ic.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec of IngressController %s: %w", ic.Name, err)
	}
	m := &corev1.ConfigMap{ObjectMeta: childMeta(ic.Name, api.AdmittedConfigMapName(ic.Name))}
	m.Data = map[string]string{api.AdmittedSpecKey: string(spec)}
	return m, nil
}

// desiredConfigMap returns the copy of a source, which may be nil.
func desiredConfigMap(ic string, c configMapCopy, source *corev1.ConfigMap) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: childMeta(ic, c.target)}
	if source == nil {
		return m
	}
	m.Annotations = map[string]string{api.AnnotationCopiedFrom: source.Namespace + "/" + source.Name}
	m.Data, m.BinaryData = maps.Clone(source.Data), maps.Clone(source.BinaryData)
	return m
}

// changedConfigMap returns the live copy brought in line with the desired one,
// and whether that changes anything.
func changedConfigMap(live, desired *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	updated := live.DeepCopy()
	changed := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(live.Data, desired.Data) || !equality.Semantic.DeepEqual(live.BinaryData, desired.BinaryData) {
		updated.Data, updated.BinaryData = desired.Data, desired.BinaryData
		changed = true
	}
	return updated, changed
}

// byConfigMap wakes the IngressControllers that own or name a ConfigMap.
func (r *Reconciler) byConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetNamespace() != api.ConfigNamespace {
		if ic := o.GetLabels()[api.LabelOwningIngressController]; ic != "" {
			return []reconcile.Request{request(ic)}
		}
		return nil
	}
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "error", err)
		return nil
	}
	var found []reconcile.Request
	for i := range list.Items {
		for _, c := range configMapCopies(&list.Items[i]) {
			if c.source == o.GetName() {
				found = append(found, request(list.Items[i].Name))
			}
		}
	}
	return found
}
