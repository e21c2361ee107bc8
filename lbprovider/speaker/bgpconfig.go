package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// closeLimit is how long the sessions may take to end.
const closeLimit = 1500 * time.Millisecond

// bgpCache is what the cache of a speaker holds for BGP: of all Secrets only
// those in the provider's namespace, and of what speakers write about sessions
// only what this one wrote: the others' is as many times as much as there are
// nodes.
func bgpCache(namespace, node string) map[client.Object]cache.ByObject {
	here := map[string]cache.Config{namespace: {}}
	mine := labels.SelectorFromSet(labels.Set{v1beta1.LabelNode: node})
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}:           {Namespaces: here},
		&v1beta1.BGPSessionState{}: {Namespaces: here, Label: mine},
	}
}

// watches has everything decided anew when an object of the configuration changes.
func (b *bgpSide) watches(to *builder.Builder, toAll handler.EventHandler, specOrLabels builder.WatchesOption) *builder.Builder {
	if b == nil {
		return to
	}
	return to.
		Watches(&v1beta1.BGPAdvertisement{}, toAll, specOrLabels).
		Watches(&v1beta2.BGPPeer{}, toAll, specOrLabels).
		Watches(&v1beta1.BFDProfile{}, toAll, specOrLabels).
		Watches(&v1beta1.Community{}, toAll, specOrLabels).
		Watches(&corev1.Secret{}, toAll)
}

// resources adds to res what the configuration of BGP is made of.
func (b *bgpSide) resources(ctx context.Context, res *config.Resources) error {
	if b == nil {
		return nil
	}
	var ads v1beta1.BGPAdvertisementList
	var peers v1beta2.BGPPeerList
	var profiles v1beta1.BFDProfileList
	var communities v1beta1.CommunityList
	var secrets corev1.SecretList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&ads, &peers, &profiles, &communities, &secrets} {
		if err := b.client.List(ctx, list, client.InNamespace(b.opts.Namespace)); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	if err := b.client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	res.BGPAdvertisements, res.BGPPeers = ads.Items, peers.Items
	res.BFDProfiles, res.Communities = profiles.Items, communities.Items
	res.OnlyNode = b.opts.NodeName
	res.Secrets = map[string]config.Secret{}
	for i := range secrets.Items {
		res.Secrets[secrets.Items[i].Name] = config.Secret{Type: string(secrets.Items[i].Type), Data: secrets.Items[i].Data}
	}
	for i := range nodes.Items {
		res.Nodes = append(res.Nodes, config.Node{Name: nodes.Items[i].Name, Labels: labels.Set(nodes.Items[i].Labels)})
	}
	return nil
}

func (b *bgpSide) node(ctx context.Context) (*corev1.Node, error) {
	var node corev1.Node
	if err := b.client.Get(ctx, types.NamespacedName{Name: b.opts.NodeName}, &node); err != nil {
		return nil, fmt.Errorf("get this node: %w", err)
	}
	return &node, nil
}

func nodeAddresses(n *corev1.Node) []netip.Addr {
	var out []netip.Addr
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			out = append(out, addr.Unmap())
		}
	}
	return out
}

// leaving says whether the node is about to go, or was told to take no more
// work: whoever stops its speaker then hardly starts another one soon.
func leaving(n *corev1.Node) bool {
	if n.DeletionTimestamp != nil || n.Spec.Unschedulable || Drained(n) {
		return true
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue && strings.Contains(c.Message, "shutting down") {
			return true
		}
	}
	return false
}
