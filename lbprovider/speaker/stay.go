package speaker

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// stays says whether the addresses of the pool are to stay where they are.
func stays(pool config.Pool) bool {
	return slices.ContainsFunc(pool.L2, func(ad *config.L2Advertisement) bool { return ad.Stay })
}

// incumbents returns the nodes that say that they announce the Service. They say
// it by objects that all speakers read, so that all of them decide from the same
// facts, as election wants it; what this node knows of itself alone is left out.
func (s *Speaker) incumbents(ctx context.Context, name types.NamespacedName) (nodes []string, err error) {
	var list v1beta1.ServiceL2StatusList
	if err := s.client.List(ctx, &list, client.InNamespace(s.opts.Namespace), client.MatchingFields{statusIndex: name.String()}); err != nil {
		return nil, fmt.Errorf("list status objects of %s: %w", name, err)
	}
	for i := range list.Items {
		if node := list.Items[i].Status.Node; node != "" {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}
