package match_test

import (
	"fmt"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// A rule answers for whole path segments, and the longest one wins.
func Example() {
	table := match.NewTable("www.example.com", []match.Rule{
		{Path: "/", Value: "shop"},
		{Path: "/cart", Value: "cart"},
		{Path: "/health", Exact: true, Value: "health"},
	})
	for _, path := range []string{"/", "/cart/1", "/cartoon", "/health", "/health/live"} {
		fmt.Println(path, "→", table.Request("WWW.example.com:8080", path))
	}
	// Output:
	// / → shop
	// /cart/1 → cart
	// /cartoon → shop
	// /health → health
	// /health/live → shop
}

// Decide answers for a whole request, as HAProxy does: by the listener, the server
// name, the host and the path.
func ExampleDecide() {
	tables := &match.Tables{
		HTTP:         match.NewTable("www.example.com", []match.Rule{{Value: match.Redirect(model.ToHTTPS{Status: 301})}}),
		HTTPS:        match.NewTable("www.example.com", []match.Rule{{Value: "shop"}}),
		SNI:          match.Table{"db.example.com": "database"},
		Certificates: map[string]string{"*.example.com": "wildcard"},
		Rewrites:     func(string) bool { return false },
	}
	for _, request := range []match.Request{
		{Host: "www.example.com", Path: "/cart"},
		{TLS: true, SNI: "www.example.com", Host: "www.example.com", Path: "/cart"},
		{TLS: true, SNI: "db.example.com"},
		{TLS: true, SNI: "www.example.com", Host: "db.example.com", Path: "/"},
	} {
		d := match.Decide(tables, request)
		fmt.Printf("%s: %s, certificate %q\n", d.Listener, d.Value, d.Certificate)
	}
	// Output:
	// http: !301, certificate ""
	// https: shop, certificate "wildcard"
	// passthrough: database, certificate ""
	// https: !421, certificate "wildcard"
}
