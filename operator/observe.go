package operator

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/admission"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/operator/status"
)

// observe reads what the children and the status depend on.
func (r *Reconciler) observe(ctx context.Context, ic *operatorv1.IngressController) (status.Input, error) {
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return status.Input{}, fmt.Errorf("list nodes: %w", err)
	}
	ics := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, ics, client.InNamespace(api.OperatorNamespace)); err != nil {
		return status.Input{}, fmt.Errorf("list IngressControllers: %w", err)
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(api.OperandNamespace), client.MatchingLabels(pod.Labels(ic.Name))); err != nil {
		return status.Input{}, fmt.Errorf("list router pods: %w", err)
	}
	domain, err := r.readClusterDNS(ctx)
	if err != nil {
		return status.Input{}, err
	}
	in := status.Input{
		IC:       ic,
		Settings: effective.Of(ic, effective.Cluster{Nodes: nodes.Items, Provider: r.provider(), DNS: domain, HAProxy: r.clusterWide()[api.AnnotationDefaultHAProxyVersion]}, r.options.Defaults),
		Pods:     pods.Items,
		Nodes:    nodes.Items,
		Now:      r.options.Now(),

		ClusterProfile: r.clusterProfile.Load(),
		DNS:            r.options.Defaults.DNS,
	}
	if in.Groups, err = service.ReadSecurityGroups(ctx, r.live, ic, in.Settings); err != nil {
		return in, err
	}
	in.Settings.SecurityGroups = in.Groups.Wanted
	in.Faults = admission.Validate(ic, in.Settings, ics.Items)
	if len(in.Faults) == 0 {
		there := func(name string) bool {
			return slices.ContainsFunc(ics.Items, func(o operatorv1.IngressController) bool { return o.Name == name })
		}
		if holder := r.domains.reserve(in.Settings.Domain, ic.Name, there); holder != ic.Name {
			in.Faults = append(in.Faults, admission.DomainTaken(ic, in.Settings.Domain, holder))
		}
	}
	key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.RouterName(ic.Name)}
	if in.Deployment, err = apply.Get(ctx, r.client, key, &appsv1.Deployment{}); err != nil {
		return in, err
	}
	if in.LoadBalancer, err = apply.Get(ctx, r.client, key, &corev1.Service{}); err != nil {
		return in, err
	}
	in.Passthrough, err = r.observePassthrough(ctx, ic.Name, in.LoadBalancer)
	return in, err
}

// observePassthrough finds the passthrough Routes that a router serves although
// TLS ends before it.
func (r *Reconciler) observePassthrough(ctx context.Context, ic string, balancer *corev1.Service) ([]string, error) {
	if !service.CloudFront(balancer, r.options.Defaults.Dialect).EndsTLS {
		return nil, nil
	}
	routes := &routev1.RouteList{}
	if err := r.client.List(ctx, routes); err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return status.PassthroughRoutes(routes.Items, ic), nil
}
