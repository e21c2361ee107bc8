package suite

import (
	"fmt"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// TestConformance runs the suite with the options of its own flags. It says of each test
// at once what it came to: the testing package does so only when the last one has ended.
func TestConformance(t *testing.T) {
	o := conformance.DefaultOptions(t)
	o.Hook = func(t *testing.T, test confsuite.ConformanceTest, _ *confsuite.ConformanceTestSuite) {
		verdict := "PASS"
		switch {
		case t.Failed():
			verdict = "FAIL"
		case t.Skipped():
			verdict = "SKIP"
		}
		fmt.Printf("\n=== ENDED %s %s\n", verdict, test.ShortName)
	}
	conformance.RunConformanceWithOptions(t, o)
}
