package kube

import (
	"cmp"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unservable is a condition of OpenShift's router. It is never true here, so
// one left behind by that router is removed.
const unservable routev1.RouteIngressConditionType = "UnservableInFutureVersions"

// wantedEntry returns the entry that a router wants in a route's status. The
// condition has no time yet.
func wantedEntry(routerName, canonicalHostname string, s verdict) routev1.RouteIngress {
	admitted := corev1.ConditionFalse
	if s.Admitted {
		admitted = corev1.ConditionTrue
	}
	return routev1.RouteIngress{
		RouterName:              routerName,
		RouterCanonicalHostname: canonicalHostname,
		Host:                    s.Host,
		WildcardPolicy:          cmp.Or(routev1.WildcardPolicyType(s.WildcardPolicy), routev1.WildcardPolicyNone),
		Conditions: []routev1.RouteIngressCondition{{
			Type: routev1.RouteAdmitted, Status: admitted, Reason: string(s.Reason), Message: s.Message,
		}},
	}
}

// withEntry returns current with want in place of the entry of the same router,
// and whether that is a difference. Entries of other routers keep their place
// and content, and so do conditions of this router that it does not know. The
// time of the Admitted condition moves only if its status does.
func withEntry(current []routev1.RouteIngress, want routev1.RouteIngress, now metav1.Time) ([]routev1.RouteIngress, bool) {
	at := slices.IndexFunc(current, func(i routev1.RouteIngress) bool { return i.RouterName == want.RouterName })
	admitted := want.Conditions[0]
	if at < 0 {
		admitted.LastTransitionTime = &now
		want.Conditions = []routev1.RouteIngressCondition{admitted}
		return append(slices.Clone(current), want), true
	}
	old := current[at]
	conditions, differs := withCondition(old.Conditions, admitted, now)
	if old.Host != want.Host || old.WildcardPolicy != want.WildcardPolicy ||
		old.RouterCanonicalHostname != want.RouterCanonicalHostname {
		differs = true
	}
	want.Conditions = conditions
	result := slices.Clone(current[:at+1])
	result[at] = want
	for _, other := range current[at+1:] {
		if other.RouterName == want.RouterName {
			// A second entry of ours is a leftover; the first one counts.
			differs = true
			continue
		}
		result = append(result, other)
	}
	if !differs {
		return current, false
	}
	return result, true
}

func withCondition(current []routev1.RouteIngressCondition, want routev1.RouteIngressCondition, now metav1.Time) ([]routev1.RouteIngressCondition, bool) {
	var result []routev1.RouteIngressCondition
	found, differs := false, false
	for _, old := range current {
		switch {
		case old.Type == unservable, old.Type == want.Type && found:
			differs = true
			continue
		case old.Type != want.Type:
			result = append(result, old)
			continue
		}
		found = true
		want.LastTransitionTime = old.LastTransitionTime
		if old.Status != want.Status || want.LastTransitionTime == nil {
			want.LastTransitionTime = &now
		}
		if old.Status != want.Status || old.Reason != want.Reason || old.Message != want.Message {
			differs = true
		}
		result = append(result, want)
	}
	if !found {
		want.LastTransitionTime = &now
		return append(result, want), true
	}
	return result, differs
}

// withoutEntry returns current without the entries of a router, and whether
// there were any.
func withoutEntry(current []routev1.RouteIngress, routerName string) ([]routev1.RouteIngress, bool) {
	ours := func(i routev1.RouteIngress) bool { return i.RouterName == routerName }
	if !slices.ContainsFunc(current, ours) {
		return current, false
	}
	return slices.DeleteFunc(slices.Clone(current), ours), true
}
