package policy_test

import (
	"fmt"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// A value that cannot be used leaves the default, unless the annotation protects
// something: then the Route's paths answer 503.
func ExampleRead() {
	defaults := policy.Spec{Timeout: 30 * time.Second}
	spec, problems := policy.Read(map[string]string{
		api.AnnotationTimeout:   "5 s",
		api.AnnotationAllowlist: "the office",
	}, defaults, model.Edge, false)
	fmt.Println("timeout:", spec.Timeout)
	for _, p := range problems {
		fmt.Println(p.Key, p.Severity, "closes:", p.Closes)
	}
	// Output:
	// timeout: 30s
	// haproxy.router.openshift.io/timeout Warning closes: false
	// haproxy.router.openshift.io/ip_allowlist Error closes: true
}
