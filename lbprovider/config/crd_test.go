package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// object reads "Kind name {spec}" in the flow style of YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	kind, spec, ok := strings.Cut(text, " ")
	if !ok {
		t.Fatalf("%q has no spec", text)
	}
	version := "v1beta1"
	if before, after, ok := strings.Cut(kind, "/"); ok {
		version, kind = before, after
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{metadata: {namespace: metallb-system, name: x}, spec: "+spec+"}"), &u.Object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	u.SetAPIVersion("metallb.io/" + version)
	u.SetKind(kind)
	return u
}

// TestAPIServerChecks gives objects to a real API server: what is wrong in one
// object alone is refused there, with the field's name.
func TestAPIServerChecks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	a := metallbapi.Start(t, "../..")
	const peer = "myASN: 64512, peerASN: 64513, peerAddress: 198.18.0.1"
	for _, text := range []string{
		"v1beta2/BGPPeer {" + peer + "}",
		"v1beta2/BGPPeer {" + peer + ", peerPort: 1179, holdTime: 3s, keepaliveTime: 1s, connectTime: 10s, routerID: 198.18.0.9, sourceAddress: 198.18.0.8}",
		"v1beta2/BGPPeer {" + peer + ", holdTime: 0s}",
		"v1beta2/BGPPeer {" + peer + ", holdTime: 1m30s, ebgpMultiHop: true, vrf: red, localASN: 4200000000, dualStackAddressFamily: true}",
		"v1beta2/BGPPeer {myASN: 4200000000, dynamicASN: external, interface: eth0, passwordSecret: {name: s}}",
		"v1beta2/BGPPeer {myASN: 1, peerASN: 1, peerAddress: 'fd00::1', password: x, nodeSelectors: [{matchLabels: {a: b}}]}",
		"v1beta1/BGPPeer {" + peer + ", peerPort: 0, nodeSelectors: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}",
		"v1beta1/BGPPeer {" + peer + ", bfdProfile: b, holdTime: 90s, keepaliveTime: 0s}",
		"BGPAdvertisement {}",
		"BGPAdvertisement {aggregationLength: 24, aggregationLengthV6: 64, localPref: 4294967295, communities: ['65535:0', 'large:4294967295:0:1', no-export], peers: [a]}",
		"BGPAdvertisement {serviceSelectors: [{matchLabels: {a: b}}]}",
		"BGPAdvertisement {serviceSelectors: [{matchLabels: {a: b}}], aggregationLength: 32, aggregationLengthV6: 128}",
		"BFDProfile {}",
		"BFDProfile {receiveInterval: 10, transmitInterval: 60000, detectMultiplier: 255, echoInterval: 10, echoMode: true, passiveMode: true, minimumTtl: 254}",
		"Community {communities: [{name: a, value: '1:2'}, {name: b, value: 'large:1:2:3'}]}",
	} {
		o := object(t, text)
		if err := a.Create(t.Context(), o); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		a.Must(a.Delete(t.Context(), o))
	}
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"v1beta2/BGPPeer {peerASN: 1, peerAddress: 198.18.0.1}", []string{"spec.myASN"}},
		{"v1beta2/BGPPeer {myASN: 0, peerASN: 1, peerAddress: 198.18.0.1}", []string{"spec.myASN", "missing local ASN"}},
		{"v1beta2/BGPPeer {myASN: 4294967296, peerASN: 1, peerAddress: 198.18.0.1}", []string{"spec.myASN"}},
		{"v1beta2/BGPPeer {myASN: 1, peerAddress: 198.18.0.1}", []string{"exactly one of peerASN and dynamicASN"}},
		{"v1beta2/BGPPeer {myASN: 1, dynamicASN: external, peerASN: 2, peerAddress: 198.18.0.1}", []string{"exactly one of peerASN and dynamicASN"}},
		{"v1beta2/BGPPeer {myASN: 1, dynamicASN: any, peerAddress: 198.18.0.1}", []string{"spec.dynamicASN"}},
		{"v1beta2/BGPPeer {myASN: 1, peerASN: 2}", []string{"exactly one of peerAddress and interface"}},
		{"v1beta2/BGPPeer {" + peer + ", interface: eth0}", []string{"exactly one of peerAddress and interface"}},
		{"v1beta2/BGPPeer {myASN: 1, peerASN: 2, peerAddress: 1.1.1}", []string{"spec.peerAddress", "must be an IP address"}},
		{"v1beta2/BGPPeer {" + peer + ", sourceAddress: x}", []string{"spec.sourceAddress"}},
		{"v1beta2/BGPPeer {" + peer + ", routerID: 'fd00::1'}", []string{"spec.routerID"}},
		{"v1beta2/BGPPeer {" + peer + ", peerPort: 16385}", []string{"spec.peerPort"}},
		{"v1beta2/BGPPeer {" + peer + ", holdTime: 2s}", []string{"spec.holdTime", "must be 0 or >=3s"}},
		{"v1beta2/BGPPeer {" + peer + ", holdTime: 500ms}", []string{"spec.holdTime", "must be 0 or >=3s"}},
		{"v1beta2/BGPPeer {" + peer + ", holdTime: soon}", []string{"spec.holdTime"}},
		{"v1beta2/BGPPeer {" + peer + ", holdTime: 9s, keepaliveTime: 10s}", []string{"keepaliveTime must not be longer"}},
		{"v1beta2/BGPPeer {" + peer + ", connectTime: 0s}", []string{"spec.connectTime"}},
		{"v1beta2/BGPPeer {" + peer + ", connectTime: 1500ms}", []string{"spec.connectTime", "whole number of seconds"}},
		{"v1beta2/BGPPeer {" + peer + ", password: x, passwordSecret: {name: s}}", []string{"password and passwordSecret"}},
		{"v1beta2/BGPPeer {myASN: 1, peerASN: 1, peerAddress: 198.18.0.1, ebgpMultiHop: true}", []string{"invalid ebgp-multihop"}},
		{"v1beta2/BGPPeer {myASN: 1, dynamicASN: internal, peerAddress: 198.18.0.1, ebgpMultiHop: true}", []string{"invalid ebgp-multihop"}},
		{"v1beta2/BGPPeer {" + peer + ", localASN: 0}", []string{"spec.localASN"}},
		{"v1beta1/BGPPeer {myASN: 0, peerASN: 1, peerAddress: 198.18.0.1}", []string{"missing local ASN"}},
		{"BGPAdvertisement {aggregationLength: 33}", []string{"spec.aggregationLength"}},
		{"BGPAdvertisement {aggregationLength: 0}", []string{"spec.aggregationLength"}},
		{"BGPAdvertisement {aggregationLengthV6: 129}", []string{"spec.aggregationLengthV6"}},
		{"BGPAdvertisement {serviceSelectors: [{}], aggregationLength: 24}", []string{"mutually exclusive"}},
		{"BGPAdvertisement {communities: ['65536:1']}", []string{"spec.communities", "64512:100"}},
		{"BGPAdvertisement {communities: ['a:b']}", []string{"spec.communities"}},
		{"BGPAdvertisement {communities: ['large:1:2']}", []string{"spec.communities"}},
		{"BGPAdvertisement {communities: ['large:1:2:4294967296']}", []string{"spec.communities"}},
		{"BGPAdvertisement {communities: ['1:2', '1:2']}", []string{"spec.communities[1]", "Duplicate"}},
		{"BGPAdvertisement {peers: [a, a]}", []string{"spec.peers[1]", "Duplicate"}},
		{"BFDProfile {receiveInterval: 9}", []string{"spec.receiveInterval"}},
		{"BFDProfile {transmitInterval: 60001}", []string{"spec.transmitInterval"}},
		{"BFDProfile {detectMultiplier: 1}", []string{"spec.detectMultiplier"}},
		{"BFDProfile {minimumTtl: 255}", []string{"spec.minimumTtl"}},
		{"Community {communities: [{name: a, value: '1:2'}, {name: a, value: '1:3'}]}", []string{"spec.communities[1]", "Duplicate"}},
		{"Community {communities: [{name: 'a:b', value: '1:2'}]}", []string{"a name cannot contain"}},
		{"Community {communities: [{name: a, value: b}]}", []string{"spec.communities[0].value"}},
	} {
		o := object(t, tt.text)
		err := a.Create(t.Context(), o)
		if err == nil {
			t.Errorf("%s: accepted", tt.text)
			a.Must(a.Delete(t.Context(), o))
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: message %q lacks %q", tt.text, err, want)
			}
		}
	}
	t.Run("versions of BGPPeer", func(t *testing.T) { versions(t, a) })
}

// versions writes a peer as v1beta1 and reads it as v1beta2.
func versions(t *testing.T, a *metallbapi.API) {
	t.Helper()
	old := object(t, "BGPPeer {myASN: 64512, peerASN: 64513, peerAddress: 198.18.0.1, holdTime: 90s, password: p, ebgpMultiHop: true, nodeSelectors: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}")
	a.Must(a.Create(t.Context(), old))
	var now v1beta2.BGPPeer
	a.Must(a.Get(t.Context(), client.ObjectKeyFromObject(old), &now))
	s := now.Spec
	if s.ASN != 64513 || s.HoldTime == nil || s.HoldTime.Duration != 90*time.Second || !s.EBGPMultiHop || s.Password != "p" ||
		s.Port != 179 || len(s.NodeSelectors) != 1 || s.NodeSelectors[0].MatchExpressions[0].Values[0] != "b" {
		t.Errorf("as v1beta2: %+v", s)
	}
	now.Spec.EnableGracefulRestart = true
	if err := a.Update(t.Context(), &now); err == nil || !strings.Contains(err.Error(), "cannot be changed after creation") {
		t.Errorf("enableGracefulRestart was changed: %v", err)
	}
	now.Spec.EnableGracefulRestart, now.Spec.VRFName = false, "red"
	a.Must(a.Update(t.Context(), &now))
	var again v1beta1.BGPPeer
	a.Must(a.Get(t.Context(), client.ObjectKeyFromObject(old), &again))
	again.Spec.Password = "q"
	a.Must(a.Update(t.Context(), &again)) // by the old version, fields of the new one stay
	a.Must(a.Get(t.Context(), client.ObjectKeyFromObject(old), &now))
	if now.Spec.VRFName != "red" || now.Spec.Password != "q" {
		t.Errorf("after an update as v1beta1: %+v", now.Spec)
	}
}

// TestAPIServerCompares: what takes several objects to see is refused, or warned
// of, by policies, as far as the API server can see it.
func TestAPIServerCompares(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	a := metallbapi.Start(t, "../..")
	named := func(name, text string) *unstructured.Unstructured {
		o := object(t, text)
		o.SetName(name)
		return o
	}
	for _, o := range []*unstructured.Unstructured{
		named("old", "IPAddressPool {addresses: [198.18.1.0/24, 198.18.3.5-198.18.3.9, 'fd00::/64']}"),
		named("old", "Community {communities: [{name: far, value: '1:2'}]}"),
		named("used", "BFDProfile {}"), named("unused", "BFDProfile {}"),
		named("old", "v1beta2/BGPPeer {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, bfdProfile: used}"),
		named("old", "BGPAdvertisement {localPref: 1, peers: [a, b]}"),
	} {
		a.Must(a.Create(t.Context(), o))
	}
	a.Must(a.Server.Apply(t.Context(), "../../config/lbprovider/policy.yaml"))
	denied := func(err error, want string) string {
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Sprintf("%v, want %q", err, want)
		}
		return ""
	}
	dry := client.DryRunAll
	var heard warnings
	listening := rest.CopyConfig(a.REST)
	listening.WarningHandler = &heard
	c, err := client.New(listening, client.Options{Scheme: a.Scheme()})
	a.Must(err)
	// warned creates an object and returns the warnings.
	warned := func(name, text string) string {
		heard = nil
		a.Must(c.Create(t.Context(), named(name, text), dry))
		return strings.Join(heard, "\n")
	}
	for _, tt := range []struct{ text, want string }{
		{"IPAddressPool {addresses: [198.18.9.0/24, 198.18.1.128/25]}", `"198.18.1.128/25" in pool "new" overlaps with pool "old"`},
		{"IPAddressPool {addresses: [198.18.0.0/16]}", `overlaps with pool "old"`},
		{"IPAddressPool {addresses: [198.18.1.200-198.18.2.9]}", `overlaps with pool "old"`},
		{"IPAddressPool {addresses: [198.18.3.0/29]}", `overlaps with pool "old"`},
		{"IPAddressPool {addresses: [198.18.3.9 - 198.18.3.12]}", `overlaps with pool "old"`},
		{"IPAddressPool {addresses: ['fd00::1-fd00::2']}", `overlaps with pool "old"`},
		{"Community {communities: [{name: near, value: '1:3'}, {name: far, value: '1:3'}]}", `duplicate definition of community "far", which Community "old" defines`},
		{"IPAddressPool {addresses: [198.18.4.0/24, 198.18.5.9-198.18.5.10, 198.18.7.1 - 198.18.6.200]}", `accepted, but spec.addresses: the range "198.18.7.1 - 198.18.6.200" ends before it begins`},
		{"BGPAdvertisement {asPathPrepend: 2, localPref: 1, peers: [b, c], ipAddressPools: [old]}", `accepted, but spec.asPathPrepend: BGPAdvertisement "old" has another one`},
		{"BGPAdvertisement {localPref: 2, peers: [b, c], ipAddressPools: [old]}", `accepted, but spec.localPref: BGPAdvertisement "old" has another one`},
		{"v1beta2/BGPPeer {myASN: 5, peerASN: 2, peerAddress: 198.18.0.1, peerPort: 179, nodeSelectors: [{}]}", `accepted, but spec: BGPPeer "old" is the same session`},
		{"BGPAdvertisement {aggregationLength: 23, peers: [z]}", `accepted, but the aggregation length is shorter than 198.18.1.0/24 of pool "old"`},
		{"BGPAdvertisement {aggregationLengthV6: 63, ipAddressPools: [old], peers: [z]}", `shorter than fd00::/64 of pool "old"`},
	} {
		// Policies are in force a moment after they are made.
		a.Eventually(func() string {
			if got := warned("new", tt.text); !strings.Contains(got, tt.want) {
				return fmt.Sprintf("%s: warnings %q, want %q", tt.text, got, tt.want)
			}
			return ""
		})
	}
	a.Eventually(func() string {
		heard = nil
		a.Must(c.Delete(t.Context(), named("used", "BFDProfile {}"), dry))
		if got, want := strings.Join(heard, "\n"), "BFDProfile used is used by BGPPeer old"; !strings.Contains(got, want) {
			return fmt.Sprintf("warnings %q, want %q", got, want)
		}
		return ""
	})
	elsewhere := object(t, "L2Advertisement {}")
	elsewhere.SetNamespace("default")
	a.Eventually(func() string {
		return denied(a.Create(t.Context(), elsewhere, dry), "resource must be created in metallb-system namespace")
	})
	for _, text := range []string{
		"IPAddressPool {addresses: [198.18.2.0/24, 198.18.3.0/30, 198.18.3.10-198.18.3.12, 'fd00:1::/64']}",
		"Community {communities: [{name: near, value: '1:2'}]}",
		"BGPAdvertisement {localPref: 1}",
		"BGPAdvertisement {localPref: 2, peers: [c]}",
		"BGPAdvertisement {localPref: 2, aggregationLength: 24, aggregationLengthV6: 64}",
		"BGPAdvertisement {localPref: 2, serviceSelectors: [{}]}",
		"BGPAdvertisement {localPref: 1, aggregationLength: 2, ipAddressPools: [other]}",
		"v1beta2/BGPPeer {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, peerPort: 180}",
		"v1beta2/BGPPeer {myASN: 1, peerASN: 2, peerAddress: 198.18.0.1, vrf: red}",
		"v1beta2/BGPPeer {myASN: 1, peerASN: 2, peerAddress: 198.18.0.2}",
	} {
		if got := warned("new", text); got != "" {
			t.Errorf("%s: warnings %q", text, got)
		}
	}
	heard = nil
	if err := c.Delete(t.Context(), named("unused", "BFDProfile {}"), dry); err != nil || len(heard) > 0 {
		t.Errorf("delete a profile that nobody uses: %v, warnings %q", err, heard)
	}
	old := named("old", "IPAddressPool {}")
	a.Must(c.Patch(t.Context(), old, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"addresses":["198.18.1.0/25"]}}`))))
	if len(heard) > 0 {
		t.Errorf("a pool is said to overlap with itself: %q", heard)
	}
}

// warnings are what the API server says beside its answers.
type warnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }
