package speaker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Cluster is what a speaker decides from: the configuration, the nodes, and the
// other speakers. It is never changed.
type Cluster struct {
	// Self is the name of this node.
	Self   string
	Config *config.Config
	// Nodes are sorted by name.
	Nodes []election.Node
	// Members are the speakers that this one can reach, by node. Dead is when
	// speakers were lost that did not say that they stop.
	Members map[string]liveness.Member
	Dead    map[string]time.Time
	// Unreachable are the nodes whose speakers work and cannot be reached.
	Unreachable map[string]bool
	// Synced says that this speaker has met the others, or waited long enough.
	Synced bool
	// Isolated says that this speaker reaches too little to announce anything, and
	// Alone that it reaches no other although others work.
	Isolated, Alone bool
}

// Reports says whether this node is the one to report what all nodes decide alike.
func (c *Cluster) Reports() bool {
	for _, n := range c.Nodes {
		if n.Alive {
			return n.Name == c.Self
		}
	}
	return false
}

// diedAt returns when the speaker of a node was found dead; zero if it lives, or
// left on purpose.
func (c *Cluster) diedAt(node string) time.Time {
	if _, lives := c.Members[node]; lives {
		return time.Time{}
	}
	return c.Dead[node]
}

// clusterReader joins what the API server and the other speakers say of the
// nodes. It belongs to Reconcile.
type clusterReader struct {
	client  client.Reader
	opts    Options
	log     *slog.Logger
	metrics *gauges

	reachability *reachability
	unreachable  map[string]bool
}

func newClusterReader(c client.Reader, opts Options, log *slog.Logger, metrics *gauges) *clusterReader {
	return &clusterReader{client: c, opts: opts, log: log, metrics: metrics, reachability: newReachability(), unreachable: map[string]bool{}}
}

// read returns the Cluster, and after which time it changes by itself, or 0.
func (r *clusterReader) read(ctx context.Context, cfg *config.Config) (cluster *Cluster, again time.Duration, err error) {
	var list corev1.NodeList
	if err := r.client.List(ctx, &list); err != nil {
		return nil, 0, fmt.Errorf("list nodes: %w", err)
	}
	working, err := r.findPeers(ctx)
	if err != nil {
		return nil, 0, err
	}
	peers := r.opts.Peers.Snapshot()
	now := time.Now()
	apiLost, again := r.reachability.apiLost(peers.Members, now)
	isolated, wait := r.reachability.isolated(r.opts.NodeName, peers.Members, now)
	again = soonest(again, wait)
	c := &Cluster{
		Self: r.opts.NodeName, Config: cfg, Members: peers.Members, Dead: peers.Dead, Synced: peers.Synced,
		Isolated: isolated && !r.opts.AnnounceIsolated,
		Alone:    r.reachability.alone(r.opts.NodeName, peers.Members, list.Items, working),
	}
	for i := range list.Items {
		n := &list.Items[i]
		member, alive := peers.Members[n.Name]
		node := service.ReadNode(n)
		isReady, wait := readyOrRecently(n, now)
		again = soonest(again, wait)
		c.Nodes = append(c.Nodes, election.Node{
			Name: n.Name, Labels: node.Labels, Ready: isReady, NetworkUnavailable: node.NetworkUnavailable,
			Excluded: node.Excluded && !r.opts.IgnoreExcludeLabel, Drained: node.Drained,
			Alive: alive || r.presumedAlive(c, n, working), Interfaces: member.Interfaces, WithoutIPv6: member.WithoutIPv6,
			Draining: member.Phase == liveness.Draining, Settling: member.Phase == liveness.Settling,
			APILost: apiLost[n.Name],
		})
	}
	slices.SortFunc(c.Nodes, func(a, b election.Node) int { return strings.Compare(a.Name, b.Name) })
	c.Unreachable = maps.Clone(r.unreachable)
	r.metrics.members(len(peers.Members))
	return c, again, nil
}

// presumedAlive says whether a speaker that does not gossip is taken for alive
// all the same, because Kubernetes sees it at work:
//
//   - one that was never met: the port is blocked, or the keys differ. To take
//     its addresses would give each of them two owners. One that was met and is
//     gone is dead;
//   - any, while this speaker is alone: then it is not the others that are dead.
func (r *clusterReader) presumedAlive(c *Cluster, n *corev1.Node, working map[string]bool) bool {
	if n.Name == c.Self || !nodeReady(n) || !working[n.Name] {
		delete(r.unreachable, n.Name)
		return false
	}
	_, gossips := c.Members[n.Name]
	if gossips || r.reachability.met(n.Name) && !c.Alone {
		delete(r.unreachable, n.Name)
		return false
	}
	if !r.unreachable[n.Name] {
		r.log.Error("a working speaker cannot be reached; are TCP and UDP of the gossip port open?", "node", n.Name)
	}
	r.unreachable[n.Name] = true
	return true
}

// findPeers passes on to the gossip where speakers should be, and returns the
// nodes whose speaker works as far as Kubernetes knows.
func (r *clusterReader) findPeers(ctx context.Context) (working map[string]bool, err error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(r.opts.Namespace), client.MatchingLabelsSelector{Selector: r.opts.Speakers}); err != nil {
		return nil, fmt.Errorf("list speaker pods: %w", err)
	}
	working = map[string]bool{}
	var addresses []string
	for i := range pods.Items {
		if ip := pods.Items[i].Status.HostIP; ip != "" {
			addresses = append(addresses, ip)
		}
		if podReady(&pods.Items[i]) {
			working[pods.Items[i].Spec.NodeName] = true
		}
	}
	slices.Sort(addresses)
	r.opts.Peers.SetPeers(slices.Compact(addresses))
	return working, nil
}

func nodeReady(n *corev1.Node) bool { return condition(n, corev1.NodeReady) == corev1.ConditionTrue }

// drained says whether a user wants addresses moved away from the node.
func drained(n *corev1.Node) bool { return service.ReadNode(n).Drained }
