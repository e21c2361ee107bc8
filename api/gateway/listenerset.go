package gateway

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// What ListenerSets may add to one Gateway. Entries that are not served for another reason
// do not count. A namespace has a share, so that a tenant leaves most to the others.
const (
	MostSetListeners               = 4096
	MostSetListenersOfNamespace    = MostSetListeners / 4
	MostSetCertificates            = 4096
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
	Sets []*SetVerdict

	of *gatewayv1.Gateway
	// byName are the same in the order of compareNames.
	byName []*SetVerdict
}

// SetVerdict says what becomes of a ListenerSet. It never changes: what is true of one after
// another has changed is another value, unless it is the same.
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
// unless the Gateway says so; an unreadable selector allows none, nor does a Gateway at the
// address of the router.
func AllowsSets(g *gatewayv1.Gateway, namespace string, labelsOf Labels) bool {
	a := g.Spec.AllowedListeners
	if SharesAddress(g) || a == nil || a.Namespaces == nil || a.Namespaces.From == nil {
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

// JudgeAlone returns the verdict on an entry of a ListenerSet of a Gateway, whatever other
// listeners there are.
func JudgeAlone(g *gatewayv1.Gateway, l *gatewayv1.Listener) ListenerVerdict {
	v := ListenerVerdict{Name: l.Name, Port: int32(l.Port), Conflict: gatewayv1.ListenerReasonNoConflicts}
	if v.Reason, v.Message = supported(g, l); v.Accepted() && SharesAddress(g) {
		v.Reason, v.Message = gatewayv1.ListenerReasonPortUnavailable, noSets(g)
	}
	if v.Accepted() {
		v.Block = blockOf(g, l)
	}
	return v
}
