package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
)

// PublishGroups puts the groups into a patch of the status, and reports whether
// they differ from what the status has.
func PublishGroups(patch map[string]any, in Input) (bool, error) {
	now := service.EffectiveGroups(in.LoadBalancer, in.Settings.Dialect)
	if !effective.HasGroups(in.Settings.Strategy) || len(in.Faults) > 0 || slices.Equal(now, in.Groups.Published) {
		return false, nil
	}
	var value any
	if len(now) > 0 {
		list := make([]any, 0, len(now))
		for _, g := range now {
			list = append(list, g)
		}
		value = list
	}
	return true, unstructured.SetNestedField(patch, value, effective.GroupsPath("status")...)
}
