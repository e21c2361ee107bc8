// Package provideradapter joins hooks to the load balancers of Kubernetes' own cloud
// providers (k8s.io/cloud-provider), both ways:
//
//	cloudprovider.LoadBalancer ─▶ FromProvider ─▶ hook.LoadBalancerHook
//	hook.LoadBalancerHook ─▶ ToProvider ─▶ cloudprovider.LoadBalancer
//
// With the first, any provider that exists can serve Fairlead's Services, in a
// program of one's own around webhook.Handler. With the second, a hook can serve
// a cloud controller manager. No other package of Fairlead imports
// k8s.io/cloud-provider.
//
// A provider's interface knows less than a hook's: no pods as targets, no
// partial results, no list of what is owned.
package provideradapter

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Provided is a hook around the load balancers of a cloud provider.
type Provided struct {
	name     string
	provider cloudprovider.LoadBalancer
}

var _ hook.LoadBalancerHook = (*Provided)(nil)

// FromProvider returns a hook that asks a cloud provider. The name is for logs.
func FromProvider(name string, provider cloudprovider.LoadBalancer) *Provided {
	return &Provided{name, provider}
}

// Name returns "provider:" and the name.
func (p *Provided) Name() string { return "provider:" + p.name }

// Capabilities are what every provider has.
func (p *Provided) Capabilities(context.Context) (hook.Capabilities, error) {
	return hook.Capabilities{
		Versions: []string{hook.Version}, Kinds: []hook.Kind{hook.KindNetwork}, TargetKinds: []hook.TargetKind{hook.TargetInstance},
		Schemes: []hook.Scheme{hook.SchemeInternetFacing, hook.SchemeInternal},
	}, nil
}

// Validate finds what no provider can serve; the rest is the provider's to say.
func (p *Provided) Validate(_ context.Context, spec *hook.Spec) []hook.FieldProblem {
	if len(spec.Ports) == 0 {
		return []hook.FieldProblem{{Field: "spec.ports", Message: "a load balancer needs a port"}}
	}
	return nil
}

// Ensure has the provider make or change a load balancer. Providers wait for
// their cloud; where one asks to come back, the Result is Pending.
func (p *Provided) Ensure(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	if problems := p.Validate(ctx, spec); len(problems) > 0 {
		return nil, &hook.Error{Class: hook.ClassInvalidConfig, Field: problems[0].Field, Message: problems[0].Message}
	}
	if spec.DryRun {
		return nil, hook.Errorf(hook.ClassUnsupported, "a cloud provider cannot say what it would do")
	}
	service := serviceOf(spec)
	status, err := p.provider.EnsureLoadBalancer(ctx, spec.Ref.Cluster, service, nodesOf(spec))
	if retry := (*api.RetryError)(nil); errors.As(err, &retry) {
		r := p.result(ctx, spec.Ref, service, status)
		r.State, r.Reason, r.Message = hook.StatePending, "LoadBalancerPending", retry.Error()
		r.RetryAfter = hook.Duration(max(retry.RetryAfter(), time.Second))
		return r, nil
	}
	if err != nil {
		return nil, classify("EnsureLoadBalancer", err)
	}
	return p.result(ctx, spec.Ref, service, status), nil
}

func (p *Provided) result(ctx context.Context, ref hook.Ref, service *corev1.Service, status *corev1.LoadBalancerStatus) *hook.Result {
	r := &hook.Result{State: hook.StateReady, Handle: p.provider.GetLoadBalancerName(ctx, ref.Cluster, service)}
	if status == nil || len(status.Ingress) == 0 {
		r.State, r.Reason, r.Message = hook.StatePending, "LoadBalancerPending", "the load balancer has no address yet"
		r.RetryAfter = hook.Duration(15 * time.Second)
		return r
	}
	for _, i := range status.Ingress {
		r.Ingress = append(r.Ingress, hook.Ingress{Hostname: i.Hostname, IP: i.IP})
	}
	return r
}

// UpdateTargets gives the provider the nodes.
func (p *Provided) UpdateTargets(ctx context.Context, spec *hook.Spec) (*hook.TargetResult, error) {
	err := p.provider.UpdateLoadBalancer(ctx, spec.Ref.Cluster, serviceOf(spec), nodesOf(spec))
	if retry := (*api.RetryError)(nil); errors.As(err, &retry) {
		return &hook.TargetResult{RetryAfter: hook.Duration(max(retry.RetryAfter(), time.Second))}, nil
	}
	if err != nil {
		return nil, classify("UpdateLoadBalancer", err)
	}
	return &hook.TargetResult{}, nil
}

// Describe asks whether a load balancer is there.
func (p *Provided) Describe(ctx context.Context, ref hook.Ref) (*hook.Result, error) {
	service := serviceOf(&hook.Spec{Ref: ref})
	status, exists, err := p.provider.GetLoadBalancer(ctx, ref.Cluster, service)
	switch {
	case err != nil:
		return nil, classify("GetLoadBalancer", err)
	case !exists:
		return nil, hook.Errorf(hook.ClassNotFound, "there is no load balancer of %s", ref)
	}
	return p.result(ctx, ref, service, status), nil
}

// Delete has the provider remove a load balancer.
func (p *Provided) Delete(ctx context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	err := p.provider.EnsureLoadBalancerDeleted(ctx, d.Ref.Cluster, serviceOf(&hook.Spec{Ref: d.Ref, Annotations: d.Annotations}))
	if retry := (*api.RetryError)(nil); errors.As(err, &retry) {
		return &hook.DeleteResult{Waiting: retry.Error(), RetryAfter: hook.Duration(max(retry.RetryAfter(), time.Second))}, nil
	}
	if err != nil {
		return nil, classify("EnsureLoadBalancerDeleted", err)
	}
	return &hook.DeleteResult{Done: true}, nil
}

// ListOwned is not known to providers: there is no search for orphans.
func (p *Provided) ListOwned(context.Context) ([]hook.Ref, error) {
	return nil, hook.Errorf(hook.ClassUnsupported, "a cloud provider cannot list its load balancers")
}

// classify makes a hook's error of a provider's, which has no classes.
func classify(action string, err error) error {
	e := &hook.Error{Class: hook.ClassInternal, Action: action, Message: err.Error(), Cause: err}
	switch {
	case errors.As(err, new(*hook.Error)):
		return err
	case errors.Is(err, cloudprovider.ImplementedElsewhere), errors.Is(err, cloudprovider.NotImplemented):
		e.Class = hook.ClassUnsupported
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e.Class = hook.ClassUnavailable
	}
	return e
}

// serviceOf is a Service as providers want to see it.
func serviceOf(spec *hook.Spec) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: spec.Ref.Namespace, Name: spec.Ref.Name, UID: types.UID(spec.Ref.UID), Annotations: spec.Annotations},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerSourceRanges: spec.SourceRanges, LoadBalancerIP: spec.LoadBalancerIP,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster, HealthCheckNodePort: spec.HealthCheckNodePort, SessionAffinity: corev1.ServiceAffinityNone,
		},
	}
	if spec.LocalTraffic {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	if spec.ClientIPAffinity {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	}
	for _, f := range spec.IPFamilies {
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, corev1.IPFamily(f))
	}
	for _, p := range spec.Ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: p.Name, Protocol: corev1.Protocol(p.Protocol), Port: p.Port, NodePort: p.NodePort, TargetPort: intstr.FromInt32(p.TargetPort),
		})
	}
	return s
}

// nodesOf are the nodes as providers want to see them.
func nodesOf(spec *hook.Spec) []*corev1.Node {
	var list []*corev1.Node
	for _, n := range spec.Targets.Nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{ProviderID: n.ProviderID}}
		for _, a := range n.Addresses {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		list = append(list, node)
	}
	return list
}

// waitError asks a cloud controller manager to come back.
func waitError(what string, after time.Duration) error {
	return api.NewRetryError(fmt.Sprintf("not finished: %s", what), max(after, time.Second))
}
