package operator

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
)

func awsController(change func(*operatorv1.LoadBalancerStrategy)) *operatorv1.IngressController {
	lb := &operatorv1.LoadBalancerStrategy{
		Scope:              operatorv1.ExternalLoadBalancer,
		ProviderParameters: &operatorv1.ProviderLoadBalancerParameters{Type: operatorv1.AWSLoadBalancerProvider, AWS: &operatorv1.AWSLoadBalancerParameters{Type: operatorv1.AWSNetworkLoadBalancer}},
	}
	if change != nil {
		change(lb)
	}
	return ingressController(withStrategy(operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType, LoadBalancer: lb}))
}

// cloudDesired is the Service that is wanted, with the live one as it is.
func cloudDesired(ic *operatorv1.IngressController, live *corev1.Service) (*corev1.Service, settings) {
	s := settingsOf(ic, cluster{}, Options{Domain: "apps.example.com", RouterImage: "router:1", CloudClass: api.LoadBalancerClassAWS})
	service, _ := desiredLoadBalancerService(s)
	cloudService(service, live, ic, s)
	return service, s
}

func TestCloudAnnotations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*operatorv1.LoadBalancerStrategy)
		want   map[string]string // beside the usual ones, by suffix
	}{
		{name: "nothing chosen", want: map[string]string{"target-group-attributes": "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false"}},
		{name: "internal", change: func(lb *operatorv1.LoadBalancerStrategy) { lb.Scope = operatorv1.InternalLoadBalancer }, want: map[string]string{
			"internal": "true", "target-group-attributes": "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false",
		}},
		{name: "PROXY, subnets and addresses", change: func(lb *operatorv1.LoadBalancerStrategy) {
			lb.ProviderParameters.AWS.NetworkLoadBalancerParameters = &operatorv1.AWSNetworkLoadBalancerParameters{
				Protocol: "PROXY", EIPAllocations: []operatorv1.EIPAllocation{"eipalloc-1", "eipalloc-2"},
				Subnets: &operatorv1.AWSSubnets{IDs: []operatorv1.AWSSubnetID{"subnet-1"}, Names: []operatorv1.AWSSubnetName{"two"}},
			}
		}, want: map[string]string{
			"target-group-attributes": "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true",
			"eip-allocations":         "eipalloc-1,eipalloc-2", "subnets": "subnet-1,two",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service, _ := cloudDesired(awsController(c.change), nil)
			if service.Spec.LoadBalancerClass == nil || *service.Spec.LoadBalancerClass != api.LoadBalancerClassAWS {
				t.Error("the Service has not our class")
			}
			got := map[string]string{}
			usual := map[string]bool{"type": true, "ssl-ports": true, "backend-protocol": true}
			for k, v := range service.Annotations {
				if suffix, ok := strings.CutPrefix(k, awsPrefix); ok && !usual[suffix] && !strings.HasPrefix(suffix, "healthcheck") {
					got[suffix] = v
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCloudAnnotationsMeetOthers: an administrator's annotation wins and
// stays; the operator's goes with what it was made of.
func TestCloudAnnotationsMeetOthers(t *testing.T) {
	t.Parallel()
	internal := awsController(func(lb *operatorv1.LoadBalancerStrategy) { lb.Scope = operatorv1.InternalLoadBalancer })
	live, _ := cloudDesired(internal, nil)
	live.Annotations[awsPrefix+"name"] = "mine"
	desired, _ := cloudDesired(awsController(nil), live)
	updated, changed := changedLoadBalancerService(live, desired)
	if _, still := updated.Annotations[awsPrefix+"internal"]; still || !changed || updated.Annotations[awsPrefix+"name"] != "mine" {
		t.Errorf("annotations: %v", updated.Annotations)
	}
	if _, again := changedLoadBalancerService(updated, desired); again {
		t.Error("the update leaves something to change")
	}

	fresh, _ := desiredLoadBalancerService(settingsOf(internal, cluster{}, Options{}))
	fresh.Annotations = map[string]string{awsPrefix + "backend-protocol": "tcp"}
	desired, _ = cloudDesired(internal, fresh)
	if updated, _ := changedLoadBalancerService(fresh, desired); updated.Annotations[awsPrefix+"backend-protocol"] != "tcp" {
		t.Error("the administrator's annotation was overwritten")
	}
}

// TestCloudAnnotationsChanged: an annotation that the operator wrote and an
// administrator changed is his, also when the operator would take its own away;
// where he removes it, the operator's comes back.
func TestCloudAnnotationsChanged(t *testing.T) {
	t.Parallel()
	internal := awsController(func(lb *operatorv1.LoadBalancerStrategy) { lb.Scope = operatorv1.InternalLoadBalancer })
	live, _ := cloudDesired(internal, nil)
	live.Annotations[awsPrefix+"type"], live.Annotations[awsPrefix+"internal"] = "alb", "false"
	for range 2 { // the second time, the list of what is the operator's has changed too
		desired, _ := cloudDesired(internal, live)
		live, _ = changedLoadBalancerService(live, desired)
	}
	desired, _ := cloudDesired(awsController(nil), live)
	live, _ = changedLoadBalancerService(live, desired)
	if live.Annotations[awsPrefix+"type"] != "alb" || live.Annotations[awsPrefix+"internal"] != "false" {
		t.Errorf("annotations: %v", live.Annotations)
	}
	if _, again := changedLoadBalancerService(live, desired); again {
		t.Error("the update leaves something to change")
	}
	delete(live.Annotations, awsPrefix+"type")
	desired, _ = cloudDesired(awsController(nil), live)
	if live, _ = changedLoadBalancerService(live, desired); live.Annotations[awsPrefix+"type"] != "nlb" {
		t.Errorf("after it was removed: %v", live.Annotations)
	}

	// As a former version left it.
	live.Annotations[annotationManaged] = awsPrefix + "healthcheck-timeout " + awsPrefix + "healthcheck-interval"
	live.Annotations[awsPrefix+"healthcheck-timeout"] = "3"
	desired, _ = cloudDesired(awsController(nil), live)
	if live, _ = changedLoadBalancerService(live, desired); live.Annotations[awsPrefix+"healthcheck-timeout"] != "4" {
		t.Errorf("after a former version: %v", live.Annotations)
	}
}

// TestCloudClass: who serves the Service.
func TestCloudClass(t *testing.T) {
	t.Parallel()
	bare := awsController(func(lb *operatorv1.LoadBalancerStrategy) {
		lb.ProviderParameters = &operatorv1.ProviderLoadBalancerParameters{Type: operatorv1.BareMetalLoadBalancerProvider}
	})
	none := awsController(func(lb *operatorv1.LoadBalancerStrategy) { lb.ProviderParameters = nil })
	for _, c := range []struct {
		name  string
		ic    *operatorv1.IngressController
		class string
		want  string
	}{
		{"no hook", awsController(nil), "", ""},
		{"AWS", awsController(nil), api.LoadBalancerClassAWS, api.LoadBalancerClassAWS},
		{"nothing chosen", none, api.LoadBalancerClassAWS, api.LoadBalancerClassAWS},
		{"another platform chosen", bare, api.LoadBalancerClassAWS, ""},
		{"a webhook serves any platform", bare, api.LoadBalancerClassWebhook, api.LoadBalancerClassWebhook},
	} {
		s := settingsOf(c.ic, cluster{}, Options{CloudClass: c.class})
		if s.cloudClass != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.cloudClass, c.want)
		}
	}
}

// TestPassthrough: a certificate at the load balancer, and a Route that cannot
// work with it.
func TestPassthrough(t *testing.T) {
	t.Parallel()
	service, _ := cloudDesired(awsController(nil), nil)
	for value, want := range map[string]bool{"": false, "http": false, "https": true, "http,443": true, "*": true} {
		service.Annotations[awsPrefix+"ssl-cert"], service.Annotations[awsPrefix+"ssl-ports"] = "arn", value
		if value == "" {
			service.Annotations[awsPrefix+"ssl-cert"] = ""
		}
		if got := tlsEndsBefore(service); got != want {
			t.Errorf("ssl-ports %q: %v", value, got)
		}
	}
	route := func(name string, termination routev1.TLSTerminationType, router string) routev1.Route {
		return routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: routev1.RouteSpec{TLS: &routev1.TLSConfig{Termination: termination}},
			Status: routev1.RouteStatus{Ingress: []routev1.RouteIngress{{RouterName: router, Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue}}}}},
		}
	}
	names := passthroughRoutes([]routev1.Route{
		route("b", routev1.TLSTerminationPassthrough, "default"), route("a", routev1.TLSTerminationPassthrough, "default"),
		route("c", routev1.TLSTerminationEdge, "default"), route("d", routev1.TLSTerminationPassthrough, "other"),
	}, "default")
	if diff := cmp.Diff([]string{"ns/a", "ns/b"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := passthroughConditions(statusInput{passthrough: names}); len(c) != 1 || !strings.Contains(c[0].message, "ns/a, ns/b") {
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
			ic := awsController(nil)
			ic.Spec.TuningOptions.HTTPKeepAliveTimeout = &metav1.Duration{Duration: c.keeps}
			service, _ := cloudDesired(ic, nil)
			for k, v := range c.annotations {
				service.Annotations[awsPrefix+k] = v
			}
			got := keepAliveConditions(ic, service)
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
	live, s := cloudDesired(awsController(nil), nil)
	conditions := func(service *corev1.Service, addresses ...string) (ready, progressing condition) {
		in := statusInput{s: s, loadBalancer: service, addresses: addresses}
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
