package stack

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Observed is what is known of a Service's resources in AWS. It is a value that
// does not change. A new one comes from the account's Inventory, from reading a
// part (With), and from carrying out an action (After). It is a memory only:
// without it, everything is found again.
type Observed struct {
	State State
	// found says that the resources were looked up by their tags.
	found bool
	// readAt is when each part was read, or changed by an action.
	readAt map[Part]time.Time
	// refused are instances that AWS refused as targets, and when.
	refused map[string]time.Time
	// leftOut are the subnets that the load balancer was made without.
	leftOut []Mapping
	// groupHeldAt is since when of a deletion only the security group is left.
	groupHeldAt time.Time
}

// Found reports whether the Service's resources were looked up.
func (o Observed) Found() bool { return o.found }

// Forget returns what is known if the resources must be looked up again.
func (o Observed) Forget() Observed {
	return Observed{refused: o.refused, leftOut: o.leftOut, groupHeldAt: o.groupHeldAt}
}

// draft returns a copy that may be changed.
func (o Observed) draft() Observed {
	o.State = o.State.clone()
	o.readAt, o.refused = maps.Clone(o.readAt), maps.Clone(o.refused)
	if o.readAt == nil {
		o.readAt = map[Part]time.Time{}
	}
	if o.refused == nil {
		o.refused = map[string]time.Time{}
	}
	return o
}

func (o *Observed) touch(at time.Time, parts ...Part) {
	for _, p := range parts {
		o.readAt[p] = at
	}
}

func (o *Observed) unread(kinds ...PartKind) {
	maps.DeleteFunc(o.readAt, func(p Part, _ time.Time) bool { return slices.Contains(kinds, p.Kind) })
}

// For turns to the load balancer of a name: it becomes Balancer, and all other
// ones of the Service Former. If Balancer is another one than before, what was
// read of that one, such as its listeners, is forgotten: a listener of one load
// balancer must never be taken for that of another.
func (o Observed) For(name string) Observed {
	n := o.draft()
	all := n.State.Former
	same := n.State.Balancer != nil && n.State.Balancer.Name == name
	if n.State.Balancer != nil {
		all = append(all, *n.State.Balancer)
	}
	n.State.Balancer, n.State.Former = nil, nil
	for _, b := range all {
		if b.Name == name && n.State.Balancer == nil {
			n.State.Balancer = &b
		} else {
			n.State.Former = append(n.State.Former, b)
		}
	}
	if !same {
		n.State.Listeners, n.State.ACL, n.State.PublishedAt = nil, "", time.Time{}
		n.unread(PartListeners, PartBalancerAttributes, PartListenerAttributes, PartCertificates, PartACL, PartTags)
	}
	return n
}

// Shared returns what is known with what other Services need.
func (o Observed) Shared(s Sharing) Observed {
	o.State.Sharing = s
	return o
}

// Published returns what is known after the name of a load balancer was
// published at a time. It counts from the first time that this is the new name
// while a former load balancer is there, and DNS leads to it (not pending). It
// is forgotten with the rest, and then counted again, which only makes the
// former one stay longer.
func (o Observed) Published(name string, pending bool, at time.Time) Observed {
	b := o.State.Balancer
	switch {
	case b == nil, pending, len(o.State.Former) == 0, name == "", name != b.DNSName:
		o.State.PublishedAt = time.Time{}
	case o.State.PublishedAt.IsZero():
		o.State.PublishedAt = at
	}
	return o
}

// GroupHeld notes that of a deletion only the security group is left, because
// something else uses it, and returns for how long that has been so.
func (o Observed) GroupHeld(now time.Time) (Observed, time.Duration) {
	if o.groupHeldAt.IsZero() {
		o.groupHeldAt = now
	}
	return o, now.Sub(o.groupHeldAt)
}

// refusedFor is how long a target that AWS refused is left out.
const refusedFor = time.Minute

// WithoutRefused returns a Stack without the targets that AWS refused lately.
func (o Observed) WithoutRefused(want Stack, now time.Time) Stack {
	want.Groups = slices.Clone(want.Groups)
	for i, g := range want.Groups {
		want.Groups[i].Targets = slices.DeleteFunc(slices.Clone(g.Targets), func(t Target) bool {
			at, refused := o.refused[t.ID]
			return refused && now.Sub(at) < refusedFor
		})
	}
	return want
}

// zonesLeftOut says which zones the load balancer was made without, or "".
func (o Observed) zonesLeftOut() string {
	if len(o.leftOut) == 0 {
		return ""
	}
	ids := make([]string, 0, len(o.leftOut))
	for _, m := range o.leftOut {
		ids = append(ids, m.Subnet)
	}
	return "AWS has no load balancers in the zone of " + strings.Join(ids, " and ") + ", so the load balancer was made without"
}
