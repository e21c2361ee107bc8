package aws

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

// nodeRules are the rules in the nodes' security groups whose source is a
// security group of a user, by the Services that need them. EC2 keeps one rule
// for a port and a source, whatever needs it, so several Services may share one:
// the last of them closes it.
type nodeRules struct {
	// closing is held while a rule is closed, so that no Service begins to rely on it.
	closing sync.Mutex

	mu sync.Mutex
	// needed are the rules that a Service needs, by its UID and the nodes' group.
	needed map[string]map[string][]stack.Rule
	// closedAt is when a Service closed something in a group of the nodes.
	closedAt map[closer]time.Time
}

type closer struct{ uid, group string }

func newNodeRules() *nodeRules {
	return &nodeRules{needed: map[string]map[string][]stack.Rule{}, closedAt: map[closer]time.Time{}}
}

// set notes what a Service needs. It waits for what is being closed.
func (n *nodeRules) set(uid string, rules map[string][]stack.Rule) {
	n.mu.Lock()
	same := maps.EqualFunc(n.needed[uid], rules, slices.Equal[[]stack.Rule])
	_, known := n.needed[uid]
	n.mu.Unlock()
	if same && known {
		return
	}
	n.closing.Lock()
	defer n.closing.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.needed[uid] = rules
}

// drop forgets a Service that is gone.
func (n *nodeRules) drop(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.needed, uid)
}

// others returns the rules that other Services need, and the Services whose
// needs are known.
func (n *nodeRules) others(uid string) (rules map[string][]stack.Rule, known map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rules, known = map[string][]stack.Rule{}, map[string]bool{}
	for service, all := range n.needed {
		known[service] = true
		if service == uid {
			continue
		}
		for group, list := range all {
			rules[group] = append(rules[group], list...)
		}
	}
	return rules, known
}

// unneeded returns the rules that no other Service needs.
func (n *nodeRules) unneeded(uid, group string, rules []stack.Rule) []stack.Rule {
	needed, _ := n.others(uid)
	return slices.DeleteFunc(slices.Clone(rules), func(r stack.Rule) bool { return stack.HasRule(needed[group], r) })
}

// closedMemory is longer than anything that was read is believed.
const closedMemory = 24 * time.Hour

// closed notes that a Service closed something in a group of the nodes.
func (n *nodeRules) closed(uid, group string, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.closedAt, func(_ closer, old time.Time) bool { return at.Sub(old) > closedMemory })
	n.closedAt[closer{uid, group}] = at
}

// closedSince reports whether another Service closed something in one of the
// groups at a time or after it.
func (n *nodeRules) closedSince(uid string, groups []string, at time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for by, when := range n.closedAt {
		if by.uid != uid && slices.Contains(groups, by.group) && !when.Before(at) {
			return true
		}
	}
	return false
}
