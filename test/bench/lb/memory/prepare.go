package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	bgp "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/test/metallbapi"
	"github.com/fairlead/fairlead/test/wait"
)

// prepare makes the objects that a speaker reads.
func prepare(ctx context.Context, a *metallbapi.API, services, peers int) error {
	a.REST.QPS = -1 // the machine's limit, not the client's
	c, err := client.New(a.REST, client.Options{Scheme: a.Scheme()})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: name}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	objects := []client.Object{
		node,
		&v1beta1.IPAddressPool{ObjectMeta: meta("bench"), Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"198.19.0.0/16"}}},
		&v1beta1.L2Advertisement{ObjectMeta: meta("bench")}, &v1beta1.BGPAdvertisement{ObjectMeta: meta("bench")},
	}
	for i := range peers {
		objects = append(objects, &v1beta2.BGPPeer{ObjectMeta: meta(fmt.Sprintf("peer-%d", i)), Spec: v1beta2.BGPPeerSpec{
			MyASN: 64512, ASN: uint32(64600 + i), Address: peerAddress(i), SrcAddress: self,
		}})
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T: %w", o, err)
		}
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: self}}
	if err := c.Status().Update(ctx, node); err != nil {
		return fmt.Errorf("make the node ready: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range services {
		group.Go(func() error { return service(ctx, c, i) })
	}
	return group.Wait()
}

// service makes the n-th Service with its address and endpoint.
func service(ctx context.Context, c client.Client, n int) error {
	no, yes, node := false, true, "n1"
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("bench-%05d", n)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &no,
			Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "bench"},
		},
	}
	if err := c.Create(ctx, svc); err != nil {
		return fmt.Errorf("create a Service: %w", err)
	}
	addr := netip.AddrFrom4([4]byte{198, 19, byte(n / 256), byte(n)})
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: addr.String()}}
	if err := c.Status().Update(ctx, svc); err != nil {
		return fmt.Errorf("give a Service its address: %w", err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: svc.Name, Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &yes}}},
	}
	if err := c.Create(ctx, slice); err != nil {
		return fmt.Errorf("create an EndpointSlice: %w", err)
	}
	return nil
}

// burst takes the endpoints of all Services away, which ends with no address
// announced, and gives them others.
func (b *bench) burst(ctx context.Context) error {
	config, err := b.server.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, step := range []struct {
		endpoints string
		announced int
	}{
		{`[]`, 0},
		{`[{"addresses":["10.1.0.2"],"nodeName":"n1","conditions":{"ready":true}}]`, b.services},
	} {
		group, changing := errgroup.WithContext(ctx)
		group.SetLimit(8)
		for i := range b.services {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("bench-%05d", i)}}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"endpoints":`+step.endpoints+`}`))
			group.Go(func() error { return c.Patch(changing, slice, patch) })
		}
		if err := group.Wait(); err != nil {
			return fmt.Errorf("change endpoints: %w", err)
		}
		if err := await(ctx, b.peers, step.announced); err != nil {
			return err
		}
	}
	return nil
}

func peerAddress(i int) string { return fmt.Sprintf("198.18.0.%d", i+2) }

// peer is a router that counts what it is told.
type peer struct{ routes atomic.Int64 }

func startPeers(ctx context.Context) ([]*peer, error) {
	var all []*peer
	for i := range 3 {
		s, p := server.NewBgpServer(), &peer{}
		go s.Serve()
		address := peerAddress(i)
		err := s.StartBgp(ctx, &bgp.StartBgpRequest{Global: &bgp.Global{
			Asn: uint32(64600 + i), RouterId: address, ListenPort: 179, ListenAddresses: []string{address},
		}})
		if err != nil {
			return nil, fmt.Errorf("start a peer: %w", err)
		}
		err = s.AddPeer(ctx, &bgp.AddPeerRequest{Peer: &bgp.Peer{
			Conf:      &bgp.PeerConf{NeighborAddress: self, PeerAsn: 64512},
			Transport: &bgp.Transport{PassiveMode: true},
		}})
		if err != nil {
			return nil, fmt.Errorf("start a peer: %w", err)
		}
		go func() {
			for ctx.Err() == nil {
				var n int64
				_ = s.ListPath(ctx, &bgp.ListPathRequest{TableType: bgp.TableType_GLOBAL, Family: &bgp.Family{Afi: bgp.Family_AFI_IP, Safi: bgp.Family_SAFI_UNICAST}},
					func(*bgp.Destination) { n++ })
				p.routes.Store(n)
				pause(ctx, time.Second)
			}
		}()
		all = append(all, p)
	}
	return all, nil
}

// await waits until every peer has every address.
func await(ctx context.Context, peers []*peer, services int) error {
	return wait.Poll{Limit: 3 * time.Minute, Every: time.Second}.Until(ctx, "the routes at all peers", func() error {
		done := true
		var seen []int64
		for _, p := range peers {
			seen = append(seen, p.routes.Load())
			done = done && p.routes.Load() == int64(services)
		}
		if !done {
			return fmt.Errorf("the peers have %v of %d routes", seen, services)
		}
		return nil
	})
}
