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
	defaults := policy.Spec{CheckInterval: 5 * time.Second}
	spec, problems := policy.Read(map[string]string{
		api.AnnotationCheckInterval: "2 s",
		api.AnnotationAllowlist:     "the office",
	}, defaults, model.Edge, false)
	fmt.Println("health checks:", spec.CheckInterval)
	for _, p := range problems {
		fmt.Println(p.Key, p.Severity, "closes:", p.Closes)
	}
	// Output:
	// health checks: 5s
	// router.openshift.io/haproxy.health.check.interval Warning closes: false
	// haproxy.router.openshift.io/ip_allowlist Error closes: true
}
