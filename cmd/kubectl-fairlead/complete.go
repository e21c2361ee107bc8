package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
)

const (
	// completionTime is how long a user waits for a list of names.
	completionTime = 2 * time.Second
	// completionNames is how many of them a shell can show with use.
	completionNames = 500
)

// kinds are what `why` explains, by the word for it.
func kinds() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"route":   {Group: "route.openshift.io", Version: "v1", Resource: "routes"},
		"ingress": {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		"service": {Version: "v1", Resource: "services"},

		"gateway":     gatewayResource("gateways"),
		"listenerset": gatewayResource("listenersets"),
		"httproute":   gatewayResource("httproutes"),
		"grpcroute":   gatewayResource("grpcroutes"),
		"tlsroute":    gatewayResource("tlsroutes"),
		"tcproute":    gatewayResource("tcproutes"),
		"udproute":    gatewayResource("udproutes"),
	}
}

func gatewayResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: "v1", Resource: name}
}

// completeObject completes KIND/NAME of certain kinds: the kind first, and then names from the
// cluster. From manifests it completes nothing more.
func (c *command) completeObject(o *options, kinds map[string]schema.GroupVersionResource) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind, _, named := strings.Cut(typed, "/")
		resource, known := kinds[kind]
		if !named || !known {
			var found []string
			for kind := range kinds {
				found = append(found, kind+"/")
			}
			slices.Sort(found)
			return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		namespace, err := o.ownNamespace()
		if err != nil || len(o.files) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.names(cmd.Context(), resource, namespace, kind+"/"), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the values of the flags that addFlags makes. What
// cobra refuses is a flag that does not exist.
func (c *command) completeFlags(cmd *cobra.Command, o *options) {
	words := func(all ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
	}
	controllers := schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}
	all := map[string]cobra.CompletionFunc{
		"output": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return o.outputs(), cobra.ShellCompDirectiveNoFileComp
		},
		"haproxy":        words("3.0", "3.2", "3.4"),
		"probe":          words("here", "none"),
		"header":         cobra.NoFileCompletions,
		"sni":            cobra.NoFileCompletions,
		"client-ip":      cobra.NoFileCompletions,
		"client-subject": cobra.NoFileCompletions,
		"domain":         cobra.NoFileCompletions,
		"context":        o.completeContext,
		"namespace": func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return o.names(cmd.Context(), schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", ""), cobra.ShellCompDirectiveNoFileComp
		},
		"router": func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return o.names(cmd.Context(), controllers, api.OperatorNamespace, ""), cobra.ShellCompDirectiveNoFileComp
		},
	}
	for name, complete := range all {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag is there, once
		}
	}
}

// completeKinds completes what --fail-on takes, which each command has its own of.
func completeKinds(cmd *cobra.Command, kinds ...string) {
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
}

// completeContext completes names of the kubeconfig's contexts.
func (o *options) completeContext(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := kubeconfig(o).RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for name := range config.Contexts {
		found = append(found, name)
	}
	slices.Sort(found)
	return found, cobra.ShellCompDirectiveNoFileComp
}

// names returns the names of a kind's objects: one request for their metadata,
// and none at all where the cluster does not answer at once.
func (o *options) names(ctx context.Context, resource schema.GroupVersionResource, namespace, prefix string) []cobra.Completion {
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return nil
	}
	config.Timeout = completionTime
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	list, err := c.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: completionNames})
	if err != nil {
		return nil
	}
	var found []cobra.Completion
	for _, item := range list.Items {
		found = append(found, prefix+item.Name)
	}
	return found
}
