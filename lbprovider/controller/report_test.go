package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// secrets: only speakers read the Secret of a peer; what they say of it is the
// peer's condition.
func secrets(e *env, peer *v1beta2.BGPPeer, wait func(metav1.ConditionStatus, api.Reason, string)) {
	e.T.Helper()
	ctx := e.T.Context()
	peer.Spec.PasswordSecret.Name = "tor"
	e.Must(e.Update(ctx, peer))
	wait(metav1.ConditionTrue, api.ReasonUsed, "")
	state := &v1beta1.ConfigurationState{ObjectMeta: metallbapi.Meta("speaker-n7")}
	state.Labels = map[string]string{v1beta1.LabelComponentType: "speaker", v1beta1.LabelNodeName: "n7"}
	e.Must(e.Create(ctx, state))
	state.Status.Result = v1beta1.ConfigurationInvalid
	state.Status.ErrorSummary = "BGPPeer/metallb-system/peer: spec.passwordSecret: secret ref not found"
	e.Must(e.Status().Update(ctx, state))
	wait(metav1.ConditionFalse, api.ReasonMissingReference, "spec.passwordSecret: the speaker of node n7: secret ref not found")
	state.Status.Result, state.Status.ErrorSummary = v1beta1.ConfigurationValid, ""
	e.Must(e.Status().Update(ctx, state))
	wait(metav1.ConditionTrue, api.ReasonUsed, "")
	e.Must(e.Delete(ctx, state))
	peer.Spec.PasswordSecret.Name = ""
	e.Must(e.Update(ctx, peer))
	wait(metav1.ConditionTrue, api.ReasonNoPassword, "")
}

// conditions: objects of all kinds say whether they are used, with the reason
// and the field, and the ConfigurationState says whether pools are.
func conditions(e *env) {
	e.T.Helper()
	ctx := e.T.Context()
	echo := true
	peer := &v1beta2.BGPPeer{ObjectMeta: metallbapi.Meta("peer"), Spec: v1beta2.BGPPeerSpec{MyASN: 1, ASN: 2, Address: "198.18.0.1", BFDProfile: "echo"}}
	ad := &v1beta1.BGPAdvertisement{ObjectMeta: metallbapi.Meta("ad"), Spec: v1beta1.BGPAdvertisementSpec{Communities: []string{"far"}, IPAddressPools: []string{"main"}}}
	profile := &v1beta1.BFDProfile{ObjectMeta: metallbapi.Meta("echo"), Spec: v1beta1.BFDProfileSpec{EchoMode: &echo}}
	community := &v1beta1.Community{ObjectMeta: metallbapi.Meta("names"), Spec: v1beta1.CommunitySpec{Communities: []v1beta1.CommunityAlias{{Name: "far", Value: "1:2"}}}}
	wait := func(o client.Object, of func() []metav1.Condition, status metav1.ConditionStatus, reason api.Reason, text string) {
		e.T.Helper()
		e.Eventually(func() string {
			e.Must(e.Get(ctx, client.ObjectKeyFromObject(o), o))
			c := meta.FindStatusCondition(of(), api.ConditionValid)
			if c == nil || c.Status != status || c.Reason != string(reason) || !strings.Contains(c.Message, text) {
				return fmt.Sprintf("%T: condition %+v, want %s %s %q", o, c, status, reason, text)
			}
			return ""
		})
	}
	e.Must(e.Create(ctx, peer))
	ofPeer := func() []metav1.Condition { return peer.Status.Conditions }
	wait(peer, ofPeer, metav1.ConditionFalse, api.ReasonMissingReference, "spec.bfdProfile: ")
	e.Must(e.Create(ctx, profile)) // the order does not matter
	wait(peer, ofPeer, metav1.ConditionTrue, api.ReasonNoPassword, "spec.passwordSecret: ")
	secrets(e, peer, func(status metav1.ConditionStatus, reason api.Reason, text string) {
		wait(peer, ofPeer, status, reason, text)
	})
	wait(profile, func() []metav1.Condition { return profile.Status.Conditions }, metav1.ConditionTrue, api.ReasonIgnoredField, "spec.echoMode: ")
	e.Must(e.Create(ctx, ad))
	ofAd := func() []metav1.Condition { return ad.Status.Conditions }
	wait(ad, ofAd, metav1.ConditionFalse, api.ReasonMissingReference, `spec.communities[0]: no Community object defines "far"`)
	e.Must(e.Create(ctx, community))
	wait(ad, ofAd, metav1.ConditionTrue, api.ReasonUsed, "")
	wait(community, func() []metav1.Condition { return community.Status.Conditions }, metav1.ConditionTrue, api.ReasonUsed, "")
	pool := &v1beta1.IPAddressPool{ObjectMeta: metallbapi.Meta("main")}
	advertised := func() string {
		e.Must(e.Get(ctx, client.ObjectKeyFromObject(pool), pool))
		c := meta.FindStatusCondition(pool.Status.Conditions, api.ConditionAdvertised)
		if c == nil || c.Message != "L2Advertisement all, BGPAdvertisement ad" || pool.Status.AssignedIPv4 > 1000 {
			return fmt.Sprintf("pool main: %+v", pool.Status)
		}
		return ""
	}
	e.Eventually(advertised)
	// What another program writes into the status is replaced.
	pool.Status.AssignedIPv4, pool.Status.Conditions = 9999, nil
	e.Must(e.Status().Update(ctx, pool))
	e.Eventually(advertised)
	state := &v1beta1.ConfigurationState{ObjectMeta: metallbapi.Meta("controller")}
	result := func(want v1beta1.ConfigurationResult, text string) {
		e.T.Helper()
		e.Eventually(func() string {
			e.Must(e.Get(ctx, client.ObjectKeyFromObject(state), state))
			c := meta.FindStatusCondition(state.Status.Conditions, v1beta1.ConditionPools)
			if state.Status.Result != want || !strings.Contains(state.Status.ErrorSummary, text) || c == nil || c.Message != state.Status.ErrorSummary {
				return fmt.Sprintf("state: %+v, want %s %q", state.Status, want, text)
			}
			return ""
		})
	}
	result(v1beta1.ConfigurationInvalid, "IPAddressPool/metallb-system/overlapping: spec.addresses: 198.18.1.4-198.18.1.4 overlaps")
	e.Must(e.Delete(ctx, &v1beta1.IPAddressPool{ObjectMeta: metallbapi.Meta("overlapping")}))
	result(v1beta1.ConfigurationValid, "")
}

// usage: an object per pool lists the addresses and their Services.
func usage(e *env) {
	e.T.Helper()
	want := []v1alpha1.AddressUse{
		{Address: "198.18.1.1", Services: []string{"default/late"}},
		{Address: "198.18.1.3", Services: []string{"default/wish"}},
		{Address: "198.18.1.4", Services: []string{"default/waiting"}},
	}
	e.Eventually(func() string {
		var u v1alpha1.AddressUsage
		if err := e.Get(e.T.Context(), client.ObjectKey{Namespace: api.ProviderNamespace, Name: "main"}, &u); err != nil {
			return err.Error()
		}
		if u.InUse != 3 || u.Omitted != 0 || len(u.OwnerReferences) != 1 {
			return fmt.Sprintf("usage: %+v", u)
		}
		return cmp.Diff(want, u.Addresses)
	})
}

// beside: while a Deployment of MetalLB is there, nothing is given; once it is
// scaled down, work goes on.
func beside(t *testing.T, e *env) {
	t.Helper()
	ctx := t.Context()
	e.stop()
	one, none := int32(1), int32(0)
	labels := map[string]string{"app": "metallb", "component": "controller"}
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: "controller", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x:y"}}}},
		},
	}
	e.Must(e.Create(ctx, other))
	e.start()
	e.service("beside")
	e.Eventually(func() string {
		err := e.ready(nil)
		if err == nil || !strings.Contains(err.Error(), "deployment controller in namespace metallb-system") || !strings.Contains(err.Error(), "docs/lb/migration.md") {
			return fmt.Sprintf("readiness: %v", err)
		}
		return e.event("controller", string(api.ReasonForeignProvider))
	})
	if svc := e.get("beside"); len(svc.Status.LoadBalancer.Ingress) > 0 || len(svc.Status.Conditions) > 0 {
		t.Errorf("the service was touched: %+v", svc.Status)
	}
	other.Spec.Replicas = &none
	e.Must(e.Update(ctx, other))
	e.stop() // rather than wait for the next look, look at once
	e.start()
	e.has("beside", "198.18.1.2", api.ReasonIPAllocated)
	if err := e.ready(nil); err != nil {
		t.Errorf("readiness: %v", err)
	}
	e.Must(e.Delete(ctx, e.get("beside")))
}

// event says "" if the object of that name has an event of this reason.
func (e *env) event(name, reason string) string {
	var list corev1.EventList
	e.Must(e.List(e.T.Context(), &list, client.InNamespace(api.ProviderNamespace)))
	for _, ev := range list.Items {
		if ev.InvolvedObject.Name == name && ev.Reason == reason {
			return ""
		}
	}
	return fmt.Sprintf("%s has no event %s", name, reason)
}
