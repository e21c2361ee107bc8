package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/test/build"
)

// prefix begins the annotations of AWS.
const prefix = stack.AnnotationPrefix + "aws-load-balancer-"

// cloudDesired is the Service that is wanted of AWS.
func cloudDesired(ic *operatorv1.IngressController) (*corev1.Service, effective.Spec) {
	s := effective.Of(ic, effective.Cluster{}, effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1", CloudClass: api.LoadBalancerClassAWS, Dialect: stack.Dialect{}})
	desired, _ := service.DesiredLoadBalancer(s, ic, nil)
	return desired, s
}

// TestPassthrough: a certificate at the load balancer, and a Route that cannot
// work with it.
func TestPassthrough(t *testing.T) {
	t.Parallel()
	balancer, _ := cloudDesired(build.AWSController(nil))
	for value, want := range map[string]bool{"": false, "http": false, "https": true, "http,443": true, "*": true} {
		balancer.Annotations[prefix+"ssl-cert"], balancer.Annotations[prefix+"ssl-ports"] = "arn", value
		if value == "" {
			balancer.Annotations[prefix+"ssl-cert"] = ""
		}
		if got := service.CloudFront(balancer, stack.Dialect{}).EndsTLS; got != want {
			t.Errorf("ssl-ports %q: %v", value, got)
		}
	}
	route := func(name string, termination routev1.TLSTerminationType, router string) routev1.Route {
		return routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: routev1.RouteSpec{TLS: &routev1.TLSConfig{Termination: termination}},
			Status: routev1.RouteStatus{Ingress: []routev1.RouteIngress{{RouterName: router, Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue}}}}},
		}
	}
	names := PassthroughRoutes([]routev1.Route{
		route("b", routev1.TLSTerminationPassthrough, "default"), route("a", routev1.TLSTerminationPassthrough, "default"),
		route("c", routev1.TLSTerminationEdge, "default"), route("d", routev1.TLSTerminationPassthrough, "other"),
	}, "default")
	if diff := cmp.Diff([]string{"ns/a", "ns/b"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := passthroughConditions(Input{Passthrough: names}); len(c) != 1 || !strings.Contains(c[0].message, "ns/a, ns/b") {
		t.Errorf("conditions: %+v", c)
	}
}

// TestKeepAlive: the router must not close connections first that an
// application load balancer sends requests on.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		annotations map[string]string // by suffix
		keeps       time.Duration
		want        string // part of the message; empty for no condition
	}{
		{"network", map[string]string{"type": "nlb"}, time.Second, ""},
		{"both by default", map[string]string{"type": "alb"}, 0, ""},
		{"router just longer", map[string]string{"type": "alb"}, 61 * time.Second, ""},
		{"the same", map[string]string{"type": "alb"}, time.Minute, "after 1m0s (spec.tuningOptions.httpKeepAliveTimeout), the load balancer uses them for 1m0s"},
		{"load balancer raised", map[string]string{"type": "alb", "connection-idle-timeout": "400"}, 0, "after 5m0s"},
		{"by an attribute", map[string]string{"type": "alb", "attributes": "idle_timeout.timeout_seconds=4000", "connection-idle-timeout": "10"}, 0, "for 1h6m40s"},
		{"more than the router has", map[string]string{"type": "alb", "connection-idle-timeout": "1000"}, time.Hour, "after 15m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ic := build.AWSController(nil)
			ic.Spec.TuningOptions.HTTPKeepAliveTimeout = &metav1.Duration{Duration: c.keeps}
			balancer, _ := cloudDesired(ic)
			for k, v := range c.annotations {
				balancer.Annotations[prefix+k] = v
			}
			got := keepAliveConditions(ic, balancer, stack.Dialect{})
			if len(got) != min(len(c.want), 1) || len(got) > 0 && (!strings.Contains(got[0].message, c.want) || got[0].reason != api.ReasonRouterClosesFirst) {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}

// TestCloudConditions: what the cloud controller says in the Service is what
// the IngressController says.
func TestCloudConditions(t *testing.T) {
	t.Parallel()
	live, s := cloudDesired(build.AWSController(nil))
	conditions := func(balancer *corev1.Service, addresses ...string) (ready, progressing condition) {
		in := Input{Settings: s, LoadBalancer: balancer, Addresses: addresses}
		return loadBalancerReady(in), loadBalancerProgressing(in)
	}
	live.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionCloudReady, Status: metav1.ConditionFalse, Reason: string(api.ReasonQuotaExceeded), Message: "enough"},
		{Type: api.ConditionCloudProgressing, Status: metav1.ConditionTrue, Reason: string(api.ReasonQuotaExceeded), Message: "enough"},
	}
	ready, progressing := conditions(live)
	if ready.status != operatorv1.ConditionFalse || ready.reason != api.ReasonQuotaExceeded || progressing.status != operatorv1.ConditionTrue {
		t.Errorf("ready %+v, progressing %+v", ready, progressing)
	}
	unclassed := live.DeepCopy()
	unclassed.Spec.LoadBalancerClass, unclassed.Finalizers = nil, []string{api.FinalizerCloudLoadBalancer}
	if ready, progressing := conditions(unclassed); ready.reason != api.ReasonQuotaExceeded || progressing.reason != api.ReasonQuotaExceeded {
		t.Errorf("served without a class: ready %+v, progressing %+v", ready, progressing)
	}
	older := live.DeepCopy()
	older.Spec.LoadBalancerClass, older.Status.Conditions = nil, nil
	ready, progressing = conditions(older, "198.18.0.200")
	if ready.status != operatorv1.ConditionTrue || progressing.status != operatorv1.ConditionTrue || !strings.Contains(progressing.message, "delete service") {
		t.Errorf("ready %+v, progressing %+v", ready, progressing)
	}
}
