package api_test

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
)

// One finding becomes a line of a log, the message of a condition, and the cause
// and remedy that kubectl fairlead shows.
func ExampleFinding() {
	f := api.Finding{
		Object: api.ObjectRef{Group: "route.openshift.io", Kind: "Route", Namespace: "web", Name: "shop"},
		Field:  "spec.host", Reason: api.ReasonHostAlreadyClaimed, Severity: api.SeverityError,
		Message: "route cart already exposes www.example.com and is older", Effect: "the route is not served",
	}
	fmt.Println(f)
	fmt.Println(f.Text())
	remedy, known := api.RemedyOf(f.Reason)
	fmt.Println(known, remedy.Cause)
	// Output:
	// Error Route/web/shop: HostAlreadyClaimed spec.host: route cart already exposes www.example.com and is older (the route is not served)
	// spec.host: route cart already exposes www.example.com and is older; the route is not served
	// true an older route holds the same host and path, or another namespace holds the host
}
