package kube

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/policy"
)

type listedMeta struct {
	Namespace         string      `json:"namespace"`
	Name              string      `json:"name"`
	UID               types.UID   `json:"uid"`
	ResourceVersion   string      `json:"resourceVersion"`
	Generation        int64       `json:"generation"`
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	// Policies select routes by labels, and annotations of Routes are findings here.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func (m *listedMeta) meta() metav1.ObjectMeta {
	maps.DeleteFunc(m.Annotations, func(key, _ string) bool { return !policy.Ours(key) })
	if len(m.Annotations) == 0 {
		m.Annotations = nil
	}
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Generation: m.Generation, CreationTimestamp: m.CreationTimestamp, Labels: m.Labels, Annotations: m.Annotations,
	}
}
