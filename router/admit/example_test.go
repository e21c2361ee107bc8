package admit_test

import (
	"fmt"
	"time"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/model"
)

// The oldest claim wins a host and path, and the namespace of the oldest one has
// the host.
func ExampleDecide() {
	claim := func(day int, namespace, name, path string) *model.Claim {
		owner := model.Object{Kind: "Route", Namespace: namespace, Name: name}
		return &model.Claim{
			Owner: owner, Created: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
			Host: "www.example.com", NamedHost: "www.example.com", Match: model.Match{Path: path},
			Backend: model.Backend{Kind: model.KindOf(model.Plain), Owner: owner},
		}
	}
	hosts := admit.Decide(map[string][]*model.Claim{"www.example.com": {
		claim(3, "web", "copy", "/"),
		claim(1, "web", "shop", "/"),
		claim(2, "other", "cart", "/cart"),
	}}, false)

	host := hosts["www.example.com"]
	for _, winner := range host.Winners {
		fmt.Println("served:", winner.Owner.Name)
	}
	for _, name := range []string{"cart", "copy"} {
		for id, finding := range host.Losers {
			if id.Owner.Name == name {
				fmt.Println(name+":", finding.Message)
			}
		}
	}
	// Output:
	// served: shop
	// cart: a route in another namespace holds www.example.com and is older than cart
	// copy: route shop already exposes www.example.com and is older
}
