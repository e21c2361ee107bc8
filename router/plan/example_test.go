package plan_test

import (
	"fmt"
	"net/netip"

	"github.com/fairlead/fairlead/router/plan"
)

// What a request needs comes before the key that leads it there, and what is not
// needed any more is removed when no connection uses it.
func ExampleDiff() {
	backend := func(address string) *plan.Backend {
		return &plan.Backend{Profile: "http", Servers: plan.Servers{
			{Name: "pod", Server: &plan.Server{Address: netip.MustParseAddrPort(address), Weight: 1}},
		}}
	}
	key := plan.Entry{Map: plan.MapHTTP, Key: "www.example.com/"}
	live, want := plan.NewState(), plan.NewState()
	live.Backends["old"], live.Entries[key] = backend("10.0.0.1:8080"), "old"
	want.Backends["new"], want.Entries[key] = backend("10.0.0.2:8080"), "new"

	p := plan.Diff(live, want, plan.FullScope(live, want), plan.Capabilities{DynamicBackends: true})
	fmt.Println("reload:", p.Reload != "")
	for _, step := range p.Steps {
		fmt.Printf("%T\n", step)
	}
	for _, step := range p.Removals {
		fmt.Printf("later: %T\n", step)
	}
	// Output:
	// reload: false
	// plan.BackendAdd
	// plan.ServerAdd
	// plan.BackendPublish
	// plan.EntrySet
	// later: plan.BackendDel
}
