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

func read(ctx context.Context, c client.Client, o *inspect.Objects) error {
	var (
		services corev1.ServiceList
		slices   discoveryv1.EndpointSliceList
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
		{&services, nil, ""},
		{&nodes, nil, "nodes"},
		{&slices, nil, "EndpointSlices"},
		{&pods, []client.ListOption{own, client.MatchingLabels{"app.kubernetes.io/component": "speaker"}}, "pods of the speakers"},
		{&pools, []client.ListOption{own}, "IPAddressPools"},
		{&ads, []client.ListOption{own}, "L2Advertisements"},
		{&l2, []client.ListOption{own}, "ServiceL2Statuses"},
		{&bgp, []client.ListOption{own}, "ServiceBGPStatuses"},
		{&sessions, []client.ListOption{own}, "BGPSessionStates"},
	} {
		err := c.List(ctx, r.list, r.options...)
		missing := apierrors.IsForbidden(err) || meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
		if err != nil && (r.optional == "" || !missing) {
			return fmt.Errorf("read the cluster: %w", err)
		}
		if apierrors.IsForbidden(err) {
			o.Unreadable = append(o.Unreadable, r.optional)
		}
	}
	o.Services, o.Slices, o.Nodes, o.Speakers = services.Items, slices.Items, nodes.Items, pods.Items
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
