package effective

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/test/build"
)

// TestCloudClass: who serves the Service.
func TestCloudClass(t *testing.T) {
	t.Parallel()
	bare := build.AWSController(func(lb *operatorv1.LoadBalancerStrategy) {
		lb.ProviderParameters = &operatorv1.ProviderLoadBalancerParameters{Type: operatorv1.BareMetalLoadBalancerProvider}
	})
	none := build.AWSController(func(lb *operatorv1.LoadBalancerStrategy) { lb.ProviderParameters = nil })
	for _, c := range []struct {
		name  string
		ic    *operatorv1.IngressController
		class string
		want  string
	}{
		{"no hook", build.AWSController(nil), "", ""},
		{"AWS", build.AWSController(nil), api.LoadBalancerClassAWS, api.LoadBalancerClassAWS},
		{"nothing chosen", none, api.LoadBalancerClassAWS, api.LoadBalancerClassAWS},
		{"another platform chosen", bare, api.LoadBalancerClassAWS, ""},
		{"a webhook serves any platform", bare, api.LoadBalancerClassWebhook, api.LoadBalancerClassWebhook},
	} {
		s := Of(c.ic, Cluster{}, Defaults{CloudClass: c.class, Dialect: stack.Dialect{AnyPlatform: c.class == api.LoadBalancerClassWebhook}})
		if s.CloudClass != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.CloudClass, c.want)
		}
	}
}
