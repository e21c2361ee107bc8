// Package cluster reads what package inspect works on from a cluster: objects
// from the API server, and from each speaker, through the API server, what it
// decided. What the user's rights do not allow is left out.
package cluster

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Read reads a cluster. With ask, the speakers are asked as well. It fails if
// not even Services can be read.
func Read(ctx context.Context, config *rest.Config, ask bool) (*inspect.Objects, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	o := &inspect.Objects{Reported: map[string][]inspect.Row{}, Unreachable: map[string]string{}, Classes: service.DefaultClasses()}
	if err := read(ctx, c, o); err != nil {
		return nil, err
	}
	if ask {
		Ask(ctx, config, o)
	}
	return o, nil
}

// page is how many objects are read at once: of a large cluster, few of them are kept.
const page = 500

// pages reads all objects of a kind, and returns those that are wanted.
func pages[L client.ObjectList, T any](ctx context.Context, c client.Client, empty func() L, items func(L) []T, wanted func(*T) bool) ([]T, error) {
	var all []T
	for next := ""; ; {
		list := empty()
		err := c.List(ctx, list, client.Limit(page), client.Continue(next))
		if apierrors.IsResourceExpired(err) && next != "" {
			all, next = nil, "" // it took too long: from the start
			continue
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller looks at it, and wraps it
		}
		of := items(list)
		for i := range of {
			if wanted(&of[i]) {
				all = append(all, of[i])
			}
		}
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// services reads the Services that may have addresses, and their endpoints.
func services(ctx context.Context, c client.Client, o *inspect.Objects) (err error) {
	o.Services, err = pages(ctx, c, func() *corev1.ServiceList { return &corev1.ServiceList{} }, func(l *corev1.ServiceList) []corev1.Service { return l.Items },
		func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer })
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	balanced := map[client.ObjectKey]bool{}
	for i := range o.Services {
		balanced[client.ObjectKeyFromObject(&o.Services[i])] = true
	}
	o.Slices, err = pages(ctx, c, func() *discoveryv1.EndpointSliceList { return &discoveryv1.EndpointSliceList{} }, func(l *discoveryv1.EndpointSliceList) []discoveryv1.EndpointSlice { return l.Items },
		func(s *discoveryv1.EndpointSlice) bool {
			return balanced[client.ObjectKey{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}]
		})
	return without(o, "EndpointSlices", err)
}

// without notes that something cannot be read, and returns errors that are about more than that.
func without(o *inspect.Objects, what string, err error) error {
	if err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the cluster: %w", err)
	}
	if apierrors.IsForbidden(err) {
		o.Unreadable = append(o.Unreadable, what)
	}
	return nil
}

func read(ctx context.Context, c client.Client, o *inspect.Objects) error {
	if err := services(ctx, c, o); err != nil {
		return err
	}
	var (
		nodes    corev1.NodeList
		pods     corev1.PodList
		pools    v1beta1.IPAddressPoolList
		ads      v1beta1.L2AdvertisementList
		l2       v1beta1.ServiceL2StatusList
		bgp      v1beta1.ServiceBGPStatusList
		sessions v1beta1.BGPSessionStateList
	)
	own := client.InNamespace(api.ProviderNamespace)
	for _, r := range []struct {
		list     client.ObjectList
		options  []client.ListOption
		optional string // what it is, if the rest can do without
	}{
		{&nodes, nil, "nodes"},
		{&pods, []client.ListOption{own, client.MatchingLabels{"app.kubernetes.io/component": "speaker"}}, "pods of the speakers"},
		{&pools, []client.ListOption{own}, "IPAddressPools"},
		{&ads, []client.ListOption{own}, "L2Advertisements"},
		{&l2, []client.ListOption{own}, "ServiceL2Statuses"},
		{&bgp, []client.ListOption{own}, "ServiceBGPStatuses"},
		{&sessions, []client.ListOption{own}, "BGPSessionStates"},
	} {
		if err := without(o, r.optional, c.List(ctx, r.list, r.options...)); err != nil {
			return err
		}
	}
	o.Nodes, o.Speakers = nodes.Items, pods.Items
	o.L2, o.BGP, o.Sessions = l2.Items, bgp.Items, sessions.Items
	o.Config.ProviderNamespace, o.Config.Pools, o.Config.L2Advertisements = api.ProviderNamespace, pools.Items, ads.Items
	return nil
}

// Ask asks every speaker among the objects, all at once, and adds what they report.
func Ask(ctx context.Context, config *rest.Config, o *inspect.Objects) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range o.Speakers {
		pod := &o.Speakers[i]
		wg.Go(func() {
			rows, err := askSpeaker(ctx, config, pod)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				o.Unreachable[pod.Spec.NodeName] = err.Error()
				return
			}
			o.Reported[pod.Spec.NodeName] = rows
		})
	}
	wg.Wait()
}
