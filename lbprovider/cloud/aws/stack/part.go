package stack

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Part is the part of a State that one call of AWS reads.
type Part struct {
	Kind PartKind
	// Key is a target group's name, a listener's port, or the ids of the nodes'
	// security groups, separated by spaces.
	Key string
}

// PartKind is what a Part is about.
type PartKind int

// The kinds of parts.
const (
	PartBalancer PartKind = iota
	PartTags
	PartListeners
	PartGroups
	PartFrontend
	PartNodes
	PartBalancerAttributes
	PartGroupAttributes
	PartListenerAttributes
	PartCertificates
	PartTargets
	PartACL
)

func listenerPart(kind PartKind, port int32) Part {
	return Part{kind, strconv.Itoa(int(port))}
}

// Parts are all parts that there are, in the order in which they are read;
// without ListenerParts, which are known only once the listeners are.
func (o Observed) Parts(want Stack) []Part {
	var all []Part
	s := o.State
	if s.Balancer != nil {
		all = append(all, Part{Kind: PartBalancer}, Part{Kind: PartListeners}, Part{Kind: PartBalancerAttributes})
		if want.ACL != "" {
			all = append(all, Part{Kind: PartACL})
		}
	}
	if len(s.Groups) > 0 {
		all = append(all, Part{Kind: PartGroups})
	}
	if s.Balancer != nil || len(s.Groups) > 0 {
		all = append(all, Part{Kind: PartTags})
	}
	if s.Frontend != nil {
		all = append(all, Part{Kind: PartFrontend})
	}
	if len(want.NodeGroups) > 0 {
		all = append(all, Part{PartNodes, strings.Join(want.NodeGroups, " ")})
	}
	for _, g := range s.Groups {
		all = append(all, Part{PartGroupAttributes, g.Name}, Part{PartTargets, g.Name})
	}
	return all
}

// ListenerParts are the parts of listeners.
func (o Observed) ListenerParts(want Stack) []Part {
	var all []Part
	for _, l := range o.State.Listeners {
		if l.Protocol == "TLS" || l.Protocol == "HTTPS" {
			all = append(all, listenerPart(PartCertificates, l.Port))
		}
		i := slices.IndexFunc(want.Listeners, func(w Listener) bool { return w.Port == l.Port })
		if l.Protocol == "TCP" && (i >= 0 && len(want.Listeners[i].Attributes) > 0 || l.Tags[tagAttributes] != "") {
			all = append(all, listenerPart(PartListenerAttributes, l.Port))
		}
	}
	return all
}

// Changing are the parts that AWS changes by itself while something is under way.
func (o Observed) Changing(want Stack) []Part {
	return slices.DeleteFunc(o.Parts(want), func(p Part) bool { return p.Kind != PartBalancer && p.Kind != PartTargets })
}

// Oldest are the n parts that were read longest ago, and longer ago than age.
func (o Observed) Oldest(want Stack, n int, now time.Time, age time.Duration) []Part {
	all := slices.Concat(o.Parts(want), o.ListenerParts(want))
	slices.SortStableFunc(all, func(a, b Part) int { return o.readAt[a].Compare(o.readAt[b]) })
	all = all[:min(n, len(all))]
	return slices.DeleteFunc(all, func(p Part) bool { return now.Sub(o.readAt[p]) < age })
}

// ReadAt is when a part was read; zero for never.
func (o Observed) ReadAt(p Part) time.Time { return o.readAt[p] }

// Age is how long ago the oldest part was read.
func (o Observed) Age(want Stack, now time.Time) time.Duration {
	oldest := time.Duration(0)
	for _, p := range slices.Concat(o.Parts(want), o.ListenerParts(want)) {
		oldest = max(oldest, now.Sub(o.readAt[p]))
	}
	return oldest
}
