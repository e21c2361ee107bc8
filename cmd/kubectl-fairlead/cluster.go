package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
)

func kubeconfig(o *options) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.kcontext})
}

// ownNamespace is the one asked for, or that of the kubeconfig's context, or
// "default" for manifests.
func (o *options) ownNamespace() (string, error) {
	switch {
	case o.namespace != "":
		return o.namespace, nil
	case len(o.files) > 0:
		return metav1.NamespaceDefault, nil
	}
	ns, _, err := kubeconfig(o).Namespace()
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w; name one with --kubeconfig, or manifests with -f", err)
	}
	return ns, nil
}

func readCluster(ctx context.Context, o *options) (*explain.Objects, error) {
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig, or manifests with -f", err)
	}
	own, err := o.ownNamespace()
	if err != nil {
		return nil, err
	}
	return cluster.Read(ctx, config, own)
}
