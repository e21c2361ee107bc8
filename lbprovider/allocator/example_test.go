package allocator_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/allocator"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// A Service gets an address, or the reason why there is none, and a Service that
// waits gets what another one releases.
func Example() {
	pool := v1beta1.IPAddressPool{ObjectMeta: metav1.ObjectMeta{Namespace: "metallb-system", Name: "small"}}
	pool.Spec.Addresses = []string{"192.168.10.200/32"}
	cfg, _ := config.Parse(config.Resources{ProviderNamespace: "metallb-system", Pools: []v1beta1.IPAddressPool{pool}}, nil)
	a := allocator.New()
	a.SetConfig(cfg)

	first := service.Request{Key: "web/first", Namespace: "web", Families: []service.Family{service.IPv4}}
	second := service.Request{Key: "web/second", Namespace: "web", Families: []service.Family{service.IPv4}}
	for _, request := range []service.Request{first, second} {
		outcome := a.Converge(request, allocator.Held{}, nil)
		fmt.Println(request.Key, outcome.Addresses, outcome.Reason+":", outcome.Message)
	}
	a.Release(first.Key)
	fmt.Println(a.Converge(second, allocator.Held{}, nil).Addresses)
	// Output:
	// web/first [192.168.10.200] IPAllocated: Assigned IP "192.168.10.200" from pool "small"
	// web/second [] AllocationFailed: Failed to allocate IP for "web/second": no available IPs (pool "small": IPv4 full (1/1))
	// [192.168.10.200]
}
