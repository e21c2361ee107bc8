package rig

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead/fairlead/api"
)

// Settings returns the router's IngressController. All clients of a rig have one
// address, so the limits of a source are out of their reach, also where few files
// may be open. They are counted all the same: what that costs belongs to the figures.
func Settings() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"domain": Domain,
		"unsupportedConfigOverrides": map[string]any{
			"maxTLSConnectionRatePerSource": "1000000", "maxConnectionsPerSource": "1000000",
		},
	}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "IngressController"})
	u.SetNamespace(api.OperatorNamespace)
	u.SetName("default")
	return u
}
