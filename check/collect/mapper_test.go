package collect

import (
	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapper knows Routes, without asking.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{routev1.GroupVersion})
	m.Add(routev1.GroupVersion.WithKind("Route"), meta.RESTScopeNamespace)
	return m
}
