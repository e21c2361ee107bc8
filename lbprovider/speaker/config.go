package speaker

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/configstate"
)

// configReader reads the objects of the configuration and reports how far they
// are valid. It belongs to Reconcile.
type configReader struct {
	client   client.Reader
	opts     Options
	log      *slog.Logger
	metrics  *gauges
	reporter *configstate.Reporter
	// last is the last valid version of each object.
	last *config.Config
}

func (r *configReader) read(ctx context.Context) (*config.Config, error) {
	var pools v1beta1.IPAddressPoolList
	var ads v1beta1.L2AdvertisementList
	for _, list := range []client.ObjectList{&pools, &ads} {
		if err := r.client.List(ctx, list, client.InNamespace(r.opts.Namespace)); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	res := config.Resources{ProviderNamespace: r.opts.Namespace, Pools: pools.Items, L2Advertisements: ads.Items}
	if r.opts.Routers != nil {
		if err := r.readBGP(ctx, &res); err != nil {
			return nil, err
		}
	}
	cfg, findings := config.Parse(res, r.last)
	r.last = cfg
	r.metrics.config(config.Invalid(findings))
	r.reporter.Report(config.State(config.Speaker, findings))
	for _, f := range findings { // the controller puts them on the objects
		r.log.Debug("configuration", "finding", f.String())
	}
	return cfg, nil
}

// readBGP adds to res what the configuration of BGP is made of.
func (r *configReader) readBGP(ctx context.Context, res *config.Resources) error {
	var ads v1beta1.BGPAdvertisementList
	var peers v1beta2.BGPPeerList
	var profiles v1beta1.BFDProfileList
	var communities v1beta1.CommunityList
	var secrets corev1.SecretList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&ads, &peers, &profiles, &communities, &secrets} {
		if err := r.client.List(ctx, list, client.InNamespace(r.opts.Namespace)); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	if err := r.client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	res.BGPAdvertisements, res.BGPPeers = ads.Items, peers.Items
	res.BFDProfiles, res.Communities = profiles.Items, communities.Items
	res.OnlyNode = r.opts.NodeName
	res.Secrets = map[string]config.Secret{}
	for i := range secrets.Items {
		res.Secrets[secrets.Items[i].Name] = config.Secret{Type: string(secrets.Items[i].Type), Data: secrets.Items[i].Data}
	}
	for i := range nodes.Items {
		res.Nodes = append(res.Nodes, config.Node{Name: nodes.Items[i].Name, Labels: labels.Set(nodes.Items[i].Labels)})
	}
	return nil
}
