package provideradapter

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead/fairlead/lbprovider/cloud/controller"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Provider is a cloud provider's load balancers around a hook.
type Provider struct {
	hook hook.LoadBalancerHook
	now  func() time.Time
}

var _ cloudprovider.LoadBalancer = (*Provider)(nil)

// ToProvider returns load balancers for a cloud controller manager. Now returns
// the time; nil means time.Now.
func ToProvider(h hook.LoadBalancerHook, now func() time.Time) *Provider {
	if now == nil {
		now = time.Now
	}
	return &Provider{h, now}
}

func refOf(cluster string, s *corev1.Service) hook.Ref {
	return hook.Ref{Cluster: cluster, Namespace: s.Namespace, Name: s.Name, UID: string(s.UID)}
}

func statusOf(r *hook.Result) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	for _, i := range r.Ingress {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{Hostname: i.Hostname, IP: i.IP})
	}
	return status
}

func (p *Provider) spec(cluster string, service *corev1.Service, nodes []*corev1.Node) *hook.Spec {
	list := make([]corev1.Node, 0, len(nodes))
	for _, n := range nodes {
		list = append(list, *n)
	}
	return controller.SpecOf(cluster, service, list, p.now())
}

// GetLoadBalancer says what there is.
func (p *Provider) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	r, err := p.hook.Describe(ctx, refOf(cluster, service))
	switch {
	case hook.ClassOf(err) == hook.ClassNotFound:
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return statusOf(r), true, nil
}

// GetLoadBalancerName returns the name that providers have by default.
func (p *Provider) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// EnsureLoadBalancer makes or changes a load balancer. Until it serves, the
// error asks to come back; the status is what there is.
func (p *Provider) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	r, err := p.hook.Ensure(ctx, p.spec(cluster, service, nodes))
	if err != nil {
		return nil, err
	}
	if after := r.RetryAfter.Std(); after > 0 || r.State == hook.StatePending {
		return statusOf(r), waitError(r.Message, after)
	}
	return statusOf(r), nil
}

// UpdateLoadBalancer changes the nodes of a load balancer.
func (p *Provider) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	_, err := p.hook.UpdateTargets(ctx, p.spec(cluster, service, nodes))
	if class := hook.ClassOf(err); class == hook.ClassNotFound || class == hook.ClassUnsupported {
		_, err = p.EnsureLoadBalancer(ctx, cluster, service, nodes)
	}
	return err
}

// EnsureLoadBalancerDeleted removes a load balancer. Until nothing is left, the
// error asks to come back.
func (p *Provider) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	r, err := p.hook.Delete(ctx, &hook.Deletion{Ref: refOf(cluster, service), Annotations: service.Annotations})
	if err != nil {
		return err
	}
	if !r.Done {
		return waitError(r.Waiting, r.RetryAfter.Std())
	}
	return nil
}
