package main

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
)

// nodesAsked is how many nodes are asked where they are. One would do; more
// show whether they agree.
const nodesAsked = 100

// awsClusterOf asks the cluster where it is in AWS: OpenShift's note of its
// installation, if there is one, and nodes.
func awsClusterOf(config *rest.Config, scheme *runtime.Scheme) func(context.Context) (aws.Cluster, error) {
	return func(ctx context.Context) (aws.Cluster, error) {
		// Not the manager's client: its cache does not run yet.
		c, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			return aws.Cluster{}, fmt.Errorf("reach the cluster: %w", err)
		}
		return observeAWSCluster(ctx, c)
	}
}

func observeAWSCluster(ctx context.Context, c client.Reader) (aws.Cluster, error) {
	installation := &configv1.Infrastructure{}
	if err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, installation); err != nil && !absent(err) {
		return aws.Cluster{}, fmt.Errorf("read infrastructures.config.openshift.io/cluster: %w", err)
	}
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes, client.Limit(nodesAsked)); err != nil {
		return aws.Cluster{}, fmt.Errorf("list nodes: %w", err)
	}
	return awsClusterFrom(installation, nodes.Items), nil
}

// absent reports whether an error means that there is no such note: elsewhere
// than on OpenShift there is none, and if it must not be read, the nodes say.
func absent(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err)
}

func awsClusterFrom(installation *configv1.Infrastructure, nodes []corev1.Node) aws.Cluster {
	var cluster aws.Cluster
	if p := installation.Status.PlatformStatus; p != nil && p.AWS != nil {
		cluster.Region, cluster.Endpoints = p.AWS.Region, map[string]string{}
		for _, e := range p.AWS.ServiceEndpoints {
			cluster.Endpoints[e.Name] = e.URL
		}
	}
	for i := range nodes {
		n := &nodes[i]
		cluster.Nodes = append(cluster.Nodes, aws.Node{Name: n.Name, Region: n.Labels[corev1.LabelTopologyRegion], ProviderID: n.Spec.ProviderID})
	}
	return cluster
}
