package speaker

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// loadNodes joins what the API server and the other speakers say of the nodes.
// It returns after which time the answer changes by itself, or 0.
func (s *Speaker) loadNodes(ctx context.Context) (again time.Duration, err error) {
	var list corev1.NodeList
	if err := s.client.List(ctx, &list); err != nil {
		return 0, fmt.Errorf("list nodes: %w", err)
	}
	working, err := s.findPeers(ctx)
	if err != nil {
		return 0, err
	}
	peers := s.opts.Peers.Snapshot()
	s.synced = peers.Synced
	now := time.Now()
	lost, again := s.sight.lost(peers.Members, now)
	s.alone.Store(s.sight.alone(s.opts.NodeName, peers.Members, list.Items, working))
	cut, wait := s.sight.cut(s.opts.NodeName, peers.Members, now)
	s.cut = cut && !s.opts.AnnounceIsolated
	again = soonest(again, wait)

	s.nodes, s.members, s.dead = nil, peers.Members, peers.Dead
	for i := range list.Items {
		n := &list.Items[i]
		member, alive := peers.Members[n.Name]
		node := service.ReadNode(n)
		isReady, wait := ready(n, now)
		again = soonest(again, wait)
		s.nodes = append(s.nodes, election.Node{
			Name: n.Name, Labels: node.Labels, Ready: isReady, NetworkUnavailable: node.NetworkUnavailable,
			Excluded: node.Excluded && !s.opts.IgnoreExcludeLabel, Drained: node.Drained,
			Alive: alive || s.presumed(n, working), Interfaces: member.Interfaces, WithoutIPv6: member.WithoutIPv6,
			Draining: member.Phase == liveness.Draining, Settling: member.Phase == liveness.Settling,
			APILost: lost[n.Name],
		})
	}
	slices.SortFunc(s.nodes, func(a, b election.Node) int { return compareNames(a.Name, b.Name) })
	s.electorate.Set(s.nodes, s.opts.NodeName)
	if grown := len(peers.Members) > s.memberCount; grown && s.memberCount > 0 {
		// After a partition, an owner that never lost an address in its own
		// view must tell the others again.
		s.opts.Announcer.Refresh()
	}
	s.memberCount = len(peers.Members)
	s.metrics.members(s.memberCount)
	return again, nil
}

// presumed says whether a speaker that does not gossip is taken for alive all
// the same, because Kubernetes sees it at work:
//
//   - one that was never met: the port is blocked, or the keys differ. To take
//     its addresses would give each of them two owners. One that was met and is
//     gone is dead;
//   - any, while this speaker is alone: then it is not the others that are dead.
func (s *Speaker) presumed(n *corev1.Node, working map[string]bool) bool {
	if n.Name == s.opts.NodeName || !nodeReady(n) || !working[n.Name] {
		delete(s.unmet, n.Name)
		return false
	}
	_, gossips := s.members[n.Name]
	if gossips || s.sight.met(n.Name) && !s.alone.Load() {
		delete(s.unmet, n.Name)
		return false
	}
	if !s.unmet[n.Name] {
		s.log.Error("a working speaker cannot be reached; are TCP and UDP of the gossip port open?", "node", n.Name)
	}
	s.unmet[n.Name] = true
	return true
}

// findPeers tells the gossip where speakers should be, and returns the nodes
// whose speaker works as far as Kubernetes knows.
func (s *Speaker) findPeers(ctx context.Context) (working map[string]bool, err error) {
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(s.opts.Namespace), client.MatchingLabelsSelector{Selector: s.opts.Speakers}); err != nil {
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
	s.opts.Peers.SetPeers(slices.Compact(addresses))
	return working, nil
}

func nodeReady(n *corev1.Node) bool { return condition(n, corev1.NodeReady) == corev1.ConditionTrue }

// Drained says whether a user wants addresses moved away from the node.
func Drained(n *corev1.Node) bool { return service.ReadNode(n).Drained }
