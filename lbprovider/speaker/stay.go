package speaker

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// stays says whether the addresses of the pool are to stay where they are.
func stays(pool config.Pool) bool {
	return slices.ContainsFunc(pool.L2, func(ad *config.L2Advertisement) bool { return ad.Stay })
}

// incumbents returns the nodes that say that they announce the Service. They say
// it by objects that all speakers read, so that all of them decide from the same
// facts, as election wants it; what this node knows of itself alone is left out.
func (s *Speaker) incumbents(name types.NamespacedName) (nodes []string) {
	for _, o := range s.status.live.ForService(name) {
		if o.ReportedNode != "" {
			nodes = append(nodes, o.ReportedNode)
		}
	}
	return nodes
}
