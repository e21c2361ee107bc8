package controller

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// kind is one kind of configuration object whose condition Valid is written.
type kind struct {
	name   string
	object client.Object
	list   client.ObjectList
	// conditions returns those of an object of this kind.
	conditions func(client.Object) *[]metav1.Condition
}

// kinds returns the kinds of configuration objects.
func kinds() []kind {
	return []kind{
		{"IPAddressPool", &v1beta1.IPAddressPool{}, &v1beta1.IPAddressPoolList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta1.IPAddressPool).Status.Conditions
		}},
		{"L2Advertisement", &v1beta1.L2Advertisement{}, &v1beta1.L2AdvertisementList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta1.L2Advertisement).Status.Conditions
		}},
		{"BGPAdvertisement", &v1beta1.BGPAdvertisement{}, &v1beta1.BGPAdvertisementList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta1.BGPAdvertisement).Status.Conditions
		}},
		{"BGPPeer", &v1beta2.BGPPeer{}, &v1beta2.BGPPeerList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta2.BGPPeer).Status.Conditions
		}},
		{"BFDProfile", &v1beta1.BFDProfile{}, &v1beta1.BFDProfileList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta1.BFDProfile).Status.Conditions
		}},
		{"Community", &v1beta1.Community{}, &v1beta1.CommunityList{}, func(o client.Object) *[]metav1.Condition {
			return &o.(*v1beta1.Community).Status.Conditions
		}},
	}
}

// load makes a new configuration of the objects.
func (r *reconciler) load(ctx context.Context, services []corev1.Service) error {
	var (
		pools       v1beta1.IPAddressPoolList
		l2          v1beta1.L2AdvertisementList
		bgp         v1beta1.BGPAdvertisementList
		peers       v1beta2.BGPPeerList
		profiles    v1beta1.BFDProfileList
		communities v1beta1.CommunityList
		namespaces  corev1.NamespaceList
		nodes       corev1.NodeList
	)
	for _, list := range []client.ObjectList{&pools, &l2, &bgp, &peers, &profiles, &communities, &namespaces, &nodes} {
		if err := r.client.List(ctx, list); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	res := config.Resources{
		ProviderNamespace: r.opts.Namespace, Pools: pools.Items, L2Advertisements: l2.Items, BGPAdvertisements: bgp.Items,
		BGPPeers: peers.Items, BFDProfiles: profiles.Items, Communities: communities.Items,
		Nodes: make([]config.Node, 0, len(nodes.Items)), // known, even if there are none
	}
	for i := range namespaces.Items {
		res.Namespaces = append(res.Namespaces, config.Namespace{Name: namespaces.Items[i].Name, Labels: namespaces.Items[i].Labels})
	}
	for i := range nodes.Items {
		res.Nodes = append(res.Nodes, readNode(&nodes.Items[i]))
	}
	for i := range services {
		res.ServiceAddresses = appendAddress(res.ServiceAddresses, services[i].Spec.ClusterIPs...)
	}
	cfg, findings := config.Parse(res, r.cfg)
	r.cfg = cfg
	r.findings = map[api.ObjectRef][]api.Finding{}
	for _, f := range findings {
		r.findings[f.Object] = append(r.findings[f.Object], f)
	}
	state := config.State(config.Controller, findings)
	r.reporter.Report(state)
	r.alloc.SetConfig(cfg)
	r.metrics.config(state.Result != v1beta1.ConfigurationValid)
	return nil
}

func readNode(n *corev1.Node) config.Node {
	out := config.Node{Name: n.Name, Labels: n.Labels}
	for _, a := range n.Status.Addresses {
		out.Addresses = appendAddress(out.Addresses, a.Address)
	}
	for _, c := range n.Spec.PodCIDRs {
		if prefix, err := netip.ParsePrefix(c); err == nil {
			out.PodRanges = append(out.PodRanges, prefix)
		}
	}
	return out
}

// appendAddress appends the texts that are addresses; host names are not.
func appendAddress(to []netip.Addr, texts ...string) []netip.Addr {
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			to = append(to, addr.Unmap())
		}
	}
	return to
}
