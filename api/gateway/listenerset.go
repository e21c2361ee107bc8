package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// What ListenerSets may add to one Gateway. Entries that are not served for another reason
// do not count. A namespace has a quarter, so that a tenant leaves most to the others.
const (
	MostSetListeners               = 512
	MostSetListenersOfNamespace    = MostSetListeners / 4
	MostSetCertificatesOfNamespace = 128
)

// Labels returns the labels of a namespace, and false if it is not known.
type Labels func(namespace string) (map[string]string, bool)

// Joint has the listeners of a Gateway and of the ListenerSets that name it, judged together.
type Joint struct {
	// Own are the verdicts on the Gateway's listeners, which no ListenerSet changes.
	Own []ListenerVerdict
	// OwnOverlaps says of each of them whether a host can fit a listener of a ListenerSet as
	// well, where a client may use a connection to one for the other: both are of HTTPS and of
	// the same port. It is nil if that is so of none.
	OwnOverlaps []bool
	// Sets are the ListenerSets in the order of their precedence: older ones first, then by
	// "namespace/name".
	Sets []SetVerdict

	of     *gatewayv1.Gateway
	byName map[types.NamespacedName]int
}

// SetVerdict says what becomes of a ListenerSet.
type SetVerdict struct {
	Set *gatewayv1.ListenerSet
	// Reason is that of the condition Accepted as far as the Gateway decides it:
	// ListenerSetReasonAccepted, NotAllowed or ParentNotAccepted.
	Reason gatewayv1.ListenerSetConditionReason
	// Message says what is wrong and what to do.
	Message string
	// Entries are the listeners, and Listeners the verdict on each: none of a ListenerSet
	// that is not allowed.
	Entries   []gatewayv1.Listener
	Listeners []ListenerVerdict
	// Overlaps is OwnOverlaps for these: with those of the Gateway and other ListenerSets.
	Overlaps []bool

	// alone are the verdicts whatever other listeners there are (JudgeAlone).
	alone []ListenerVerdict
}

// Attached reports whether the Gateway has the listeners that are accepted.
func (v *SetVerdict) Attached() bool { return v.Reason == gatewayv1.ListenerSetReasonAccepted }

// SetParent returns the Gateway that a ListenerSet names, and false if it names another kind
// of object.
func SetParent(s *gatewayv1.ListenerSet) (types.NamespacedName, bool) {
	r := &s.Spec.ParentRef
	if r.Group != nil && *r.Group != gatewayv1.GroupName || r.Kind != nil && *r.Kind != "Gateway" {
		return types.NamespacedName{}, false
	}
	parent := types.NamespacedName{Namespace: s.Namespace, Name: string(r.Name)}
	if r.Namespace != nil {
		parent.Namespace = string(*r.Namespace)
	}
	return parent, true
}

// SetEntries returns the entries of a ListenerSet as listeners of a Gateway.
func SetEntries(s *gatewayv1.ListenerSet) []gatewayv1.Listener {
	all := make([]gatewayv1.Listener, 0, len(s.Spec.Listeners))
	for _, e := range s.Spec.Listeners {
		all = append(all, gatewayv1.Listener(e))
	}
	return all
}

// AllowsSets reports whether ListenerSets of a namespace may attach to a Gateway. None may
// unless the Gateway says so; an unreadable selector allows none.
func AllowsSets(g *gatewayv1.Gateway, namespace string, labelsOf Labels) bool {
	a := g.Spec.AllowedListeners
	if a == nil || a.Namespaces == nil || a.Namespaces.From == nil {
		return false
	}
	switch *a.Namespaces.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == g.Namespace
	case gatewayv1.NamespacesFromSelector:
		has, known := labelsOf(namespace)
		s, err := metav1.LabelSelectorAsSelector(a.Namespaces.Selector)
		return known && err == nil && s.Matches(labels.Set(has))
	case gatewayv1.NamespacesFromNone:
	}
	return false
}

// SelectsSets reports whether labels of namespaces decide which ListenerSets may attach.
func SelectsSets(g *gatewayv1.Gateway) bool {
	a := g.Spec.AllowedListeners
	return a != nil && a.Namespaces != nil && a.Namespaces.From != nil && *a.Namespaces.From == gatewayv1.NamespacesFromSelector
}

// Join judges the listeners of a Gateway, and of the ListenerSets that name it, in any order.
// The Gateway's own come first, whether they are served or not: no ListenerSet gets what they
// ask for. Of ListenerSets the later entry of a conflict loses.
func Join(g *gatewayv1.Gateway, sets []*gatewayv1.ListenerSet, labelsOf Labels) *Joint {
	return (*Joint)(nil).Again(g, sets, labelsOf)
}

// Again is Join, which takes from an earlier result, or nil, what is true of a ListenerSet whatever
// others there are. A Gateway and a ListenerSet that have changed are other values.
func (j *Joint) Again(g *gatewayv1.Gateway, sets []*gatewayv1.ListenerSet, labelsOf Labels) *Joint {
	before := j
	j = &Joint{Own: Judge(g), of: g, byName: make(map[types.NamespacedName]int, len(sets))}
	sets = slices.Clone(sets)
	slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	t := &taken{ports: map[int32]*portUse{}, listeners: map[string]int{}, certificates: map[string]int{}}
	for i := range g.Spec.Listeners {
		t.take(g, &g.Spec.Listeners[i])
	}
	accepted := slices.ContainsFunc(j.Own, ListenerVerdict.Accepted)
	for _, s := range sets {
		v := SetVerdict{Set: s, Reason: gatewayv1.ListenerSetReasonAccepted}
		switch {
		case !AllowsSets(g, s.Namespace, labelsOf):
			v.Reason = gatewayv1.ListenerSetReasonNotAllowed
			v.Message = fmt.Sprintf("spec.allowedListeners of Gateway %s/%s allows no ListenerSets of namespace %s, so none of the listeners is served; have it allow them, or name another Gateway", g.Namespace, g.Name, s.Namespace)
		case !accepted:
			v.Reason = gatewayv1.ListenerSetReasonParentNotAccepted
			v.Message = fmt.Sprintf("no listener of Gateway %s/%s itself is valid, so none of the listeners is served; correct the Gateway", g.Namespace, g.Name)
		default:
			v.Entries, v.alone = before.judgedAlone(g, s)
			for i := range v.Entries {
				v.Listeners = append(v.Listeners, t.judge(g, s.Namespace, &v.Entries[i], v.alone[i]))
			}
		}
		j.byName[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = len(j.Sets)
		j.Sets = append(j.Sets, v)
	}
	j.compareHosts(g)
	return j
}

// judgedAlone returns the entries of a ListenerSet and the verdict on each by itself.
func (j *Joint) judgedAlone(g *gatewayv1.Gateway, s *gatewayv1.ListenerSet) (entries []gatewayv1.Listener, alone []ListenerVerdict) {
	if j != nil && j.of == g {
		if v := j.Set(s.Namespace, s.Name); v != nil && v.Set == s && v.alone != nil {
			return v.Entries, v.alone
		}
	}
	entries = SetEntries(s)
	for i := range entries {
		alone = append(alone, JudgeAlone(g, &entries[i]))
	}
	return entries, alone
}

// compareHosts notes which listeners overlap with those of other objects.
func (j *Joint) compareHosts(g *gatewayv1.Gateway) {
	if len(j.Sets) == 0 {
		return
	}
	all := portHosts{}
	all.add(g.Spec.Listeners, j.Own)
	for i := range j.Sets {
		all.add(j.Sets[i].Entries, j.Sets[i].Listeners)
	}
	j.OwnOverlaps = all.overlaps(g.Spec.Listeners, j.Own)
	for i := range j.Sets {
		j.Sets[i].Overlaps = all.overlaps(j.Sets[i].Entries, j.Sets[i].Listeners)
	}
}

// Set returns the verdict on a ListenerSet, or nil.
func (j *Joint) Set(namespace, name string) *SetVerdict {
	if i, ok := j.byName[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		return &j.Sets[i]
	}
	return nil
}

// Changed returns the ListenerSets of which something else was true before, or that were not
// there.
func (j *Joint) Changed(before *Joint) (sets []*gatewayv1.ListenerSet) {
	for i := range j.Sets {
		v := &j.Sets[i]
		if b := before.Set(v.Set.Namespace, v.Set.Name); b == nil || b.Reason != v.Reason || b.Message != v.Message || !slices.Equal(b.Listeners, v.Listeners) || !slices.Equal(b.Overlaps, v.Overlaps) {
			sets = append(sets, v.Set)
		}
	}
	return sets
}

// OwnChanged reports whether something else was true of the Gateway's listeners before.
func (j *Joint) OwnChanged(before *Joint) bool {
	return !slices.Equal(j.OwnOverlaps, before.OwnOverlaps)
}

// JudgeAlone returns the verdict on an entry of a ListenerSet of a Gateway, whatever other
// listeners there are.
func JudgeAlone(g *gatewayv1.Gateway, l *gatewayv1.Listener) ListenerVerdict {
	v := ListenerVerdict{Name: l.Name, Port: int32(l.Port), Conflict: gatewayv1.ListenerReasonNoConflicts}
	if v.Reason, v.Message = supported(g, l); v.Accepted() {
		v.Block = blockOf(g, l)
	}
	return v
}

// taken is what listeners have that come before an entry.
type taken struct {
	ports map[int32]*portUse
	// listeners and certificates count those of ListenerSets, by namespace, and all the
	// first of all namespaces.
	listeners, certificates map[string]int
	all                     int
}

// portUse has the protocols (group) and, of each, the hostnames of a port.
type portUse map[string]map[string]struct{}

func (t *taken) take(of *gatewayv1.Gateway, l *gatewayv1.Listener) {
	g, judged := group(of, l)
	if !judged {
		return
	}
	use := t.ports[int32(l.Port)]
	if use == nil {
		use = &portUse{}
		t.ports[int32(l.Port)] = use
	}
	if (*use)[g] == nil {
		(*use)[g] = map[string]struct{}{}
	}
	(*use)[g][hostname(l)] = struct{}{}
}

// judge judges the next entry of a ListenerSet, of which v is true by itself, and gives it what it
// asks for if it is accepted. Messages name no other objects: a tenant may not know them.
func (t *taken) judge(g *gatewayv1.Gateway, namespace string, l *gatewayv1.Listener, v ListenerVerdict) ListenerVerdict {
	if conflict, message := t.conflict(g, l); conflict != gatewayv1.ListenerReasonNoConflicts {
		v.Conflict, v.Reason, v.Message, v.Block = conflict, conflict, message, Block{}
		return v
	}
	if !v.Accepted() {
		return v
	}
	certificates := 0
	if l.TLS != nil {
		certificates = len(l.TLS.CertificateRefs)
	}
	if message := t.tooMany(namespace, certificates); message != "" {
		v.Reason, v.Message, v.Block = gatewayv1.ListenerConditionReason(gatewayv1.ListenerEntryReasonTooManyListeners), message, Block{}
		return v
	}
	t.take(g, l)
	t.all++
	t.listeners[namespace]++
	t.certificates[namespace] += certificates
	return v
}

func (t *taken) conflict(g *gatewayv1.Gateway, l *gatewayv1.Listener) (gatewayv1.ListenerConditionReason, string) {
	mine, judged := group(g, l)
	use := t.ports[int32(l.Port)]
	if !judged || use == nil {
		return gatewayv1.ListenerReasonNoConflicts, ""
	}
	for other := range *use {
		if other != mine && !apart(mine, other) {
			return gatewayv1.ListenerReasonProtocolConflict,
				fmt.Sprintf("port %d has another protocol beside which %s is not served, at the Gateway or in a ListenerSet that comes first, so this listener is not served; give it another port", l.Port, l.Protocol)
		}
	}
	if _, has := (*use)[mine][hostname(l)]; has {
		return gatewayv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("the Gateway, or a ListenerSet that comes first, has hostname %q at port %d, so this listener is not served; give it another hostname or port", hostname(l), l.Port)
	}
	return gatewayv1.ListenerReasonNoConflicts, ""
}

// tooMany says which bound one more listener would exceed, empty if none.
func (t *taken) tooMany(namespace string, certificates int) string {
	switch {
	case t.listeners[namespace] == MostSetListenersOfNamespace:
		return fmt.Sprintf("the ListenerSets of namespace %s have the %d listeners that one namespace may have at a Gateway, so this one is not served; delete others", namespace, MostSetListenersOfNamespace)
	case t.certificates[namespace]+certificates > MostSetCertificatesOfNamespace:
		return fmt.Sprintf("the ListenerSets of namespace %s may name %d certificates at a Gateway, and this listener names more than are left, so it is not served; delete others", namespace, MostSetCertificatesOfNamespace)
	case t.all == MostSetListeners:
		return fmt.Sprintf("the Gateway has the %d listeners that ListenerSets may add to it, so this one is not served; delete others, or name another Gateway", MostSetListeners)
	}
	return ""
}
