package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/observe"
)

// tailKinds are those that tail shows requests of, beside hosts.
func tailKinds() map[string]schema.GroupVersionResource {
	all := kinds()
	for _, other := range []string{"gateway", "listenerset", "udproute"} {
		delete(all, other)
	}
	return all
}

// resolve puts the objects into the filter that an argument, or -n, names.
func resolve(ctx context.Context, config *rest.Config, o *options, args []string, filter *observe.Filter) error {
	if len(args) == 0 {
		if o.namespace != "" {
			filter.Targets = []observe.Target{{Namespace: o.namespace}}
		}
		return nil
	}
	kind, name, found := strings.Cut(args[0], "/")
	if !found {
		return &usageError{fmt.Sprintf("%q is neither NAMESPACE/NAME of a Route nor KIND/NAME", args[0])}
	}
	namespace, err := o.ownNamespace()
	if err != nil {
		return err
	}
	switch kind {
	case "host":
		filter.Host = name
		return fromRoutes(ctx, config, o.namespace, args[0], filter, func(r *routev1.Route) bool { return strings.EqualFold(r.Spec.Host, name) })
	case "ingress":
		return fromRoutes(ctx, config, namespace, args[0], filter, func(r *routev1.Route) bool { return ownedBy(r, name) })
	case "service":
		return fromRoutes(ctx, config, namespace, args[0], filter, func(r *routev1.Route) bool { return leadsTo(r, name) })
	}
	resource, known := tailKinds()[kind]
	if !known {
		kind, namespace, resource = "route", kind, tailKinds()["route"]
	}
	if err := filter.Add(kind + "/" + namespace + "/" + name); err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	return exists(ctx, config, resource, kind, namespace, name)
}

// exists reports an object that is not there. One that the user may not read may be there:
// the right to see requests is another one.
func exists(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, kind, namespace, name string) error {
	reader, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	_, err = reader.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s %s in namespace %s", kind, name, namespace)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("find %s %s in namespace %s: %w", kind, name, namespace, err)
	}
	return nil
}

// fromRoutes puts those Routes into the filter that a function chooses.
func fromRoutes(ctx context.Context, config *rest.Config, namespace, what string, filter *observe.Filter, choose func(*routev1.Route) bool) error {
	scheme := runtime.NewScheme()
	if err := routev1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("prepare the kinds: %w", err)
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	var routes routev1.RouteList
	if err := reader.List(ctx, &routes, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("find the Routes of %s: %w", what, err)
	}
	for i := range routes.Items {
		if r := &routes.Items[i]; choose(r) {
			if err := filter.Add("route/" + r.Namespace + "/" + r.Name); err != nil {
				return err //nolint:wrapcheck // it names the object
			}
		}
	}
	if len(filter.Targets) == 0 {
		return fmt.Errorf("no Route is for %s; kubectl fairlead why says what it is", what)
	}
	if len(filter.Targets) > observe.MaxTargets {
		return fmt.Errorf("%d Routes are for %s, of which tail can show %d; name one, or a namespace with -n", len(filter.Targets), what, observe.MaxTargets)
	}
	return nil
}

func ownedBy(r *routev1.Route, ingress string) bool {
	for _, owner := range r.OwnerReferences {
		if owner.Kind == "Ingress" && owner.Name == ingress {
			return true
		}
	}
	return false
}

func leadsTo(r *routev1.Route, service string) bool {
	return slices.ContainsFunc(append([]routev1.RouteTargetReference{r.Spec.To}, r.Spec.AlternateBackends...), func(b routev1.RouteTargetReference) bool {
		return b.Kind != "ConfigMap" && b.Name == service
	})
}
