package aws

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

// claims are the rules in the nodes' security groups whose source is a security
// group of the user. EC2 keeps one rule for a port and a source, whoever needs
// it, so several Services may share one: it is closed by the last of them.
type claims struct {
	// closing is held while a rule is closed, so that nobody begins to rely on it.
	closing sync.Mutex

	mu sync.Mutex
	// services are the rules that a Service needs, by its UID and the nodes' group.
	services map[string]map[string][]stack.Rule
	// last is when a Service closed something in a group of the nodes.
	last map[closer]time.Time
}

type closer struct{ uid, group string }

func newClaims() *claims {
	return &claims{services: map[string]map[string][]stack.Rule{}, last: map[closer]time.Time{}}
}

// set notes what a Service needs. It waits for what is just being closed.
func (c *claims) set(uid string, rules map[string][]stack.Rule) {
	c.mu.Lock()
	same := maps.EqualFunc(c.services[uid], rules, slices.Equal[[]stack.Rule])
	_, known := c.services[uid]
	c.mu.Unlock()
	if same && known {
		return
	}
	c.closing.Lock()
	defer c.closing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[uid] = rules
}

// drop forgets a Service that is gone.
func (c *claims) drop(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.services, uid)
}

// others returns what other Services need, and whose needs are known.
func (c *claims) others(uid string) (rules map[string][]stack.Rule, known map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules, known = map[string][]stack.Rule{}, map[string]bool{}
	for service, all := range c.services {
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

// unclaimed returns the rules that no other Service needs.
func (c *claims) unclaimed(uid, group string, rules []stack.Rule) []stack.Rule {
	claimed, _ := c.others(uid)
	return slices.DeleteFunc(slices.Clone(rules), func(r stack.Rule) bool { return stack.HasRule(claimed[group], r) })
}

// closedMemory is longer than anything that was read is believed.
const closedMemory = 24 * time.Hour

func (c *claims) closed(uid, group string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.last, func(_ closer, old time.Time) bool { return at.Sub(old) > closedMemory })
	c.last[closer{uid, group}] = at
}

// since reports whether another Service closed something in one of the groups
// at a time or after it.
func (c *claims) since(uid string, groups []string, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for who, when := range c.last {
		if who.uid != uid && slices.Contains(groups, who.group) && !when.Before(at) {
			return true
		}
	}
	return false
}

// claim says which rules this Service needs, and finds out about those of
// others where a plan may close some that they share. Services that have a load
// balancer and were not looked at yet need everything of their groups.
func (v *view) claim(ctx context.Context, want stack.Stack) error {
	v.hook.claims.set(v.ref.UID, stack.Claims(want, v.state))
	v.state.Claimed, v.state.Unknown, v.state.Alive = nil, nil, nil
	doubtful := stack.Doubtful(want, v.state)
	if len(doubtful) == 0 {
		return nil
	}
	all, err := v.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	claimed, known := v.hook.claims.others(v.ref.UID)
	v.state.Claimed, v.state.Alive = claimed, known
	v.state.Alive[v.ref.UID] = true
	note := func(tags map[string]string, groups []string) {
		ref := stack.RefOf(v.ref.Cluster, tags)
		if !stack.Ours(v.ref.Cluster, tags) || known[ref.UID] {
			return
		}
		v.state.Unknown = append(v.state.Unknown, groups...)
	}
	for _, b := range all.balancers {
		note(b.Tags, b.SecurityGroups)
	}
	return nil
}
