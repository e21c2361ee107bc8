package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Again is Join, which takes from an earlier result, or nil, what is still true. A Gateway and a
// ListenerSet that have changed are other values.
func (j *Joint) Again(g *gatewayv1.Gateway, sets []*gatewayv1.ListenerSet, labelsOf Labels) *Joint {
	before := j
	if before == nil || before.of != g {
		before = &Joint{of: g, Own: Judge(g)}
	}
	j = &Joint{Own: before.Own, of: g, Sets: make([]*SetVerdict, 0, len(sets))}
	sets = slices.Clone(sets)
	slices.SortFunc(sets, byPrecedence)
	seen := judging.Get().(*scratch) //nolint:forcetypeassert // there is nothing else in it
	defer seen.back()
	for i := range g.Spec.Listeners {
		seen.take(g, &g.Spec.Listeners[i])
	}
	old := before.Sets
	for _, s := range sets {
		for len(old) > 0 && old[0].Set != s && byPrecedence(old[0].Set, s) < 0 {
			old = old[1:]
		}
		var was *SetVerdict
		if len(old) > 0 && old[0].Set == s {
			was = old[0]
		}
		j.Sets = append(j.Sets, seen.verdict(j, s, was, labelsOf))
	}
	seen.compareHosts(j)
	j.sortByName(before)
	return j
}

// byPrecedence puts older ListenerSets first, then those whose "namespace/name" comes first.
func byPrecedence(a, b *gatewayv1.ListenerSet) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return compareNames(a.Namespace, a.Name, b.Namespace, b.Name)
}

// compareNames compares "namespace/name" with another one.
func compareNames(namespaceA, nameA, namespaceB, nameB string) int {
	switch {
	case namespaceA == namespaceB:
		return strings.Compare(nameA, nameB)
	case strings.HasPrefix(namespaceB, namespaceA):
		return cmp.Compare('/', namespaceB[len(namespaceA)])
	case strings.HasPrefix(namespaceA, namespaceB):
		return cmp.Compare(namespaceA[len(namespaceB)], '/')
	}
	return strings.Compare(namespaceA, namespaceB)
}

// Set returns the verdict on a ListenerSet, or nil.
func (j *Joint) Set(namespace, name string) *SetVerdict {
	if i, ok := j.find(namespace, name); ok {
		return j.byName[i]
	}
	return nil
}

func (j *Joint) find(namespace, name string) (int, bool) {
	return slices.BinarySearchFunc(j.byName, struct{}{}, func(v *SetVerdict, _ struct{}) int {
		return compareNames(v.Set.Namespace, v.Set.Name, namespace, name)
	})
}

// sortByName puts what was sorted before, and is another thing now, in its place.
func (j *Joint) sortByName(before *Joint) {
	j.byName = slices.Clone(before.byName)
	gone, come := differing(before.Sets, j.Sets)
	for _, v := range gone {
		if i, ok := j.find(v.Set.Namespace, v.Set.Name); ok {
			j.byName = slices.Delete(j.byName, i, i+1)
		}
	}
	for _, v := range come {
		i, _ := j.find(v.Set.Namespace, v.Set.Name)
		j.byName = slices.Insert(j.byName, i, v)
	}
}

// differing returns the verdicts that are in one of two lists in the order of their precedence.
func differing(a, b []*SetVerdict) (onlyA, onlyB []*SetVerdict) {
	for len(a) > 0 && len(b) > 0 {
		switch c := byPrecedence(a[0].Set, b[0].Set); {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case c <= 0:
			onlyA, a = append(onlyA, a[0]), a[1:]
		default:
			onlyB, b = append(onlyB, b[0]), b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}

// Changed returns the ListenerSets of which something else was true before, or that were not
// there.
func (j *Joint) Changed(before *Joint) (sets []*gatewayv1.ListenerSet) {
	_, come := differing(before.Sets, j.Sets)
	for _, v := range come {
		if b := before.Set(v.Set.Namespace, v.Set.Name); b == nil || !v.says(b) {
			sets = append(sets, v.Set)
		}
	}
	return sets
}

// says reports whether the same is true by two verdicts.
func (v *SetVerdict) says(b *SetVerdict) bool {
	return v.Reason == b.Reason && v.Message == b.Message && slices.Equal(v.Listeners, b.Listeners) && slices.Equal(v.Overlaps, b.Overlaps)
}

// OwnChanged reports whether something else was true of the Gateway's listeners before.
func (j *Joint) OwnChanged(before *Joint) bool {
	return !slices.Equal(j.OwnOverlaps, before.OwnOverlaps)
}

// scratch is what judging needs meanwhile. A Gateway may have thousands of ListenerSets, each
// change of which has all judged.
type scratch struct {
	taken
	hosts portHosts
	// listeners are the verdicts on those of the ListenerSet that is judged.
	listeners []ListenerVerdict
}

var judging = sync.Pool{New: func() any {
	return &scratch{taken: taken{ports: map[int32]portUse{}, listeners: map[string]int{}, certificates: map[string]int{}}, hosts: portHosts{}}
}}

func (seen *scratch) back() {
	if len(seen.ports) > mostPorts || len(seen.hosts) > mostPorts {
		return // tenants choose ports
	}
	seen.clear()
	for _, h := range seen.hosts {
		h.clear()
	}
	judging.Put(seen)
}

// mostPorts is how many ports scratch remembers.
const mostPorts = 64

// verdict judges the next ListenerSet, of which something was true before if others were the
// same, or nil.
func (seen *scratch) verdict(j *Joint, s *gatewayv1.ListenerSet, was *SetVerdict, labelsOf Labels) *SetVerdict {
	g := j.of
	var entries []gatewayv1.Listener
	var alone []ListenerVerdict
	switch {
	case SharesAddress(g):
		return &SetVerdict{Set: s, Reason: gatewayv1.ListenerSetReasonNotAllowed, Message: noSets(g)}
	case !AllowsSets(g, s.Namespace, labelsOf):
		return &SetVerdict{
			Set: s, Reason: gatewayv1.ListenerSetReasonNotAllowed,
			Message: fmt.Sprintf("spec.allowedListeners of Gateway %s/%s allows no ListenerSets of namespace %s, so none of the listeners is served; have it allow them, or name another Gateway", g.Namespace, g.Name, s.Namespace),
		}
	case !slices.ContainsFunc(j.Own, ListenerVerdict.Accepted):
		return &SetVerdict{
			Set: s, Reason: gatewayv1.ListenerSetReasonParentNotAccepted,
			Message: fmt.Sprintf("no listener of Gateway %s/%s itself is valid, so none of the listeners is served; correct the Gateway", g.Namespace, g.Name),
		}
	case was != nil && was.alone != nil:
		entries, alone = was.Entries, was.alone
	default:
		was, entries = nil, SetEntries(s)
		for i := range entries {
			alone = append(alone, JudgeAlone(g, &entries[i]))
		}
	}
	seen.listeners = seen.listeners[:0]
	for i := range entries {
		seen.listeners = append(seen.listeners, seen.judge(g, s.Namespace, &entries[i], alone[i]))
	}
	if was != nil && slices.Equal(seen.listeners, was.Listeners) {
		return was
	}
	return &SetVerdict{Set: s, Reason: gatewayv1.ListenerSetReasonAccepted, Entries: entries, Listeners: slices.Clone(seen.listeners), alone: alone}
}

// compareHosts notes which listeners overlap with those of other objects.
func (seen *scratch) compareHosts(j *Joint) {
	if len(j.Sets) == 0 {
		return
	}
	g := j.of
	seen.hosts.add(g.Spec.Listeners, j.Own)
	for _, v := range j.Sets {
		seen.hosts.add(v.Entries, v.Listeners)
	}
	j.OwnOverlaps = seen.hosts.overlaps(g.Spec.Listeners, j.Own)
	for i, v := range j.Sets {
		if o := seen.hosts.overlaps(v.Entries, v.Listeners); !slices.Equal(o, v.Overlaps) {
			other := *v
			other.Overlaps = o
			j.Sets[i] = &other
		}
	}
}
