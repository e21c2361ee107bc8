package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/test/build"
)

// prefix begins the annotations of AWS.
const prefix = stack.AnnotationPrefix + "aws-load-balancer-"

// cloudDesired is the Service that is wanted, with the live one as it is.
func cloudDesired(ic *operatorv1.IngressController, live *corev1.Service) (*corev1.Service, effective.Spec) {
	s := effective.Of(ic, effective.Cluster{}, effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1", CloudClass: api.LoadBalancerClassAWS, Dialect: stack.Dialect{}})
	service, _ := DesiredLoadBalancer(s, ic, live)
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
			service, _ := cloudDesired(build.AWSController(c.change), nil)
			if service.Spec.LoadBalancerClass == nil || *service.Spec.LoadBalancerClass != api.LoadBalancerClassAWS {
				t.Error("the Service has not our class")
			}
			got := map[string]string{}
			usual := map[string]bool{"type": true, "ssl-ports": true, "backend-protocol": true}
			for k, v := range service.Annotations {
				if suffix, ok := strings.CutPrefix(k, prefix); ok && !usual[suffix] && !strings.HasPrefix(suffix, "healthcheck") {
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
	internal := build.AWSController(func(lb *operatorv1.LoadBalancerStrategy) { lb.Scope = operatorv1.InternalLoadBalancer })
	live, _ := cloudDesired(internal, nil)
	live.Annotations[prefix+"name"] = "mine"
	desired, _ := cloudDesired(build.AWSController(nil), live)
	updated, changed := ChangedLoadBalancer(effective.Spec{}, live, desired)
	if _, still := updated.Annotations[prefix+"internal"]; still || !changed || updated.Annotations[prefix+"name"] != "mine" {
		t.Errorf("annotations: %v", updated.Annotations)
	}
	if _, again := ChangedLoadBalancer(effective.Spec{}, updated, desired); again {
		t.Error("the update leaves something to change")
	}

	fresh, _ := DesiredLoadBalancer(effective.Of(internal, effective.Cluster{}, effective.Defaults{}), internal, nil)
	fresh.Annotations = map[string]string{prefix + "backend-protocol": "tcp"}
	desired, _ = cloudDesired(internal, fresh)
	if updated, _ := ChangedLoadBalancer(effective.Spec{}, fresh, desired); updated.Annotations[prefix+"backend-protocol"] != "tcp" {
		t.Error("the administrator's annotation was overwritten")
	}
}

// TestCloudAnnotationsChanged: an annotation that the operator wrote and an
// administrator changed is his, also when the operator would take its own away;
// where he removes it, the operator's comes back.
func TestCloudAnnotationsChanged(t *testing.T) {
	t.Parallel()
	internal := build.AWSController(func(lb *operatorv1.LoadBalancerStrategy) { lb.Scope = operatorv1.InternalLoadBalancer })
	live, _ := cloudDesired(internal, nil)
	live.Annotations[prefix+"type"], live.Annotations[prefix+"internal"] = "alb", "false"
	for range 2 { // the second time, the list of what is the operator's has changed too
		desired, _ := cloudDesired(internal, live)
		live, _ = ChangedLoadBalancer(effective.Spec{}, live, desired)
	}
	desired, _ := cloudDesired(build.AWSController(nil), live)
	live, _ = ChangedLoadBalancer(effective.Spec{}, live, desired)
	if live.Annotations[prefix+"type"] != "alb" || live.Annotations[prefix+"internal"] != "false" {
		t.Errorf("annotations: %v", live.Annotations)
	}
	if _, again := ChangedLoadBalancer(effective.Spec{}, live, desired); again {
		t.Error("the update leaves something to change")
	}
	delete(live.Annotations, prefix+"type")
	desired, _ = cloudDesired(build.AWSController(nil), live)
	if live, _ = ChangedLoadBalancer(effective.Spec{}, live, desired); live.Annotations[prefix+"type"] != "nlb" {
		t.Errorf("after it was removed: %v", live.Annotations)
	}

	// As a former version left it.
	live.Annotations[annotationManaged] = prefix + "healthcheck-timeout " + prefix + "healthcheck-interval"
	live.Annotations[prefix+"healthcheck-timeout"] = "3"
	desired, _ = cloudDesired(build.AWSController(nil), live)
	if live, _ = ChangedLoadBalancer(effective.Spec{}, live, desired); live.Annotations[prefix+"healthcheck-timeout"] != "4" {
		t.Errorf("after a former version: %v", live.Annotations)
	}
}
