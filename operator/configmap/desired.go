// Package configmap copies the ConfigMaps that an IngressController names into the
// namespace of its routers, and keeps the admitted spec there.
package configmap

import (
	"encoding/json"
	"fmt"
	"maps"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
)

// Copy is a ConfigMap that an IngressController names in the
// namespace of the administrators' settings, and its copy, which the routers
// mount.
type Copy struct {
	// field is what names the source, which is empty if nothing does.
	field, Source, target string
}

// Copies returns the ConfigMaps that an IngressController may name.
func Copies(ic *operatorv1.IngressController) []Copy {
	return []Copy{
		{"spec.clientTLS.clientCA", ic.Spec.ClientTLS.ClientCA.Name, api.ClientCAConfigMapName(ic.Name)},
		{"spec.httpErrorCodePages", ic.Spec.HttpErrorCodePages.Name, api.ErrorPagesConfigMapName(ic.Name)},
	}
}

// desiredAdmitted returns the ConfigMap that keeps an admitted spec for routers
// that start while a refused one stands in the IngressController.
func desiredAdmitted(ic *operatorv1.IngressController) (*corev1.ConfigMap, error) {
	spec, err := json.Marshal(ic.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec of IngressController %s: %w", ic.Name, err)
	}
	m := &corev1.ConfigMap{ObjectMeta: child.Meta(ic.Name, api.AdmittedConfigMapName(ic.Name))}
	m.Data = map[string]string{api.AdmittedSpecKey: string(spec)}
	return m, nil
}

// desired returns the copy of a source, which may be nil.
func desired(ic string, c Copy, source *corev1.ConfigMap) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: child.Meta(ic, c.target)}
	if source == nil {
		return m
	}
	m.Annotations = map[string]string{api.AnnotationCopiedFrom: source.Namespace + "/" + source.Name}
	m.Data, m.BinaryData = maps.Clone(source.Data), maps.Clone(source.BinaryData)
	return m
}

// changed returns the live copy brought in line with the desired one,
// and whether that changes anything.
func changed(live, desired *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(live.Data, desired.Data) || !equality.Semantic.DeepEqual(live.BinaryData, desired.BinaryData) {
		updated.Data, updated.BinaryData = desired.Data, desired.BinaryData
		changed = true
	}
	return updated, changed
}
