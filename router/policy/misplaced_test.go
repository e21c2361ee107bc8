package policy_test

import (
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestMisplacedOfGateways: annotations that objects of the Gateway API have by themselves are no
// mistake at these, and only there.
func TestMisplacedOfGateways(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind model.Kind
		key  string
		want string
	}{
		{"Gateway", "fairlead.dev/address", ""},
		{"HTTPRoute", "fairlead.dev/takes-over", ""},
		{"HTTPRoute", "fairlead.dev/metrics", ""},
		{"TCPRoute", "fairlead.dev/slo", ""},
		{"Gateway", "fairlead.dev/slo", "this annotation is not for objects of this kind"},
		{"UDPRoute", "fairlead.dev/metrics", "this annotation is not for objects of this kind"},
		{"GRPCRoute", "fairlead.dev/metric", "this annotation is not for objects of this kind; fairlead.dev/metrics may be meant"},
		{"ListenerSet", "fairlead.dev/address", "this annotation is not for objects of this kind"},
		{"GRPCRoute", "fairlead.dev/takes-over", "this annotation is not for objects of this kind"},
		{"Gateway", "fairlead.dev/addr3ss", "this annotation is not for objects of this kind; fairlead.dev/address may be meant"},
		{"HTTPRoute", "fairlead.dev/take-over", "this annotation is not for objects of this kind; fairlead.dev/takes-over may be meant"},
		{"Gateway", "fairlead.dev/something", "this annotation is not for objects of this kind"},
	} {
		closings, unapplied := policy.Misplaced(model.Object{Kind: test.kind}, map[string]string{test.key: "x"})
		got := ""
		for _, c := range unapplied {
			got += c.Message
		}
		if got != test.want || len(closings) > 0 {
			t.Errorf("%s %s: %q, closings %v", test.kind, test.key, got, closings)
		}
	}
}
