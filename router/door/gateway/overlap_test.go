package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const overlapping = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: foo, port: 443, protocol: HTTPS, hostname: foo.example.com, tls: {certificateRefs: [{name: foo}]}}
  - {name: org, port: 443, protocol: HTTPS, hostname: foo.example.org, tls: {certificateRefs: [{name: org}]}}
  - {name: wild, port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
  - {name: one, port: 443, protocol: HTTPS, hostname: one.test, tls: {certificateRefs: [{name: both}]}}
  - {name: two, port: 443, protocol: HTTPS, hostname: two.test, tls: {certificateRefs: [{name: again}]}}
  - {name: alone, port: 443, protocol: HTTPS, hostname: alone.test, tls: {certificateRefs: [{name: alone}]}}
  - {name: elsewhere, port: 8443, protocol: HTTPS, hostname: alone.test, tls: {certificateRefs: [{name: alone}]}}
  - {name: broken, port: 8443, protocol: HTTPS, hostname: "*.test", tls: {mode: Passthrough}}
  - {name: plain, port: 80, protocol: HTTP, hostname: a.test}
  - {name: any, port: 80, protocol: HTTP}`

const overlappingSet = `
kind: ListenerSet
metadata: {namespace: b, name: set, uid: s}
spec:
  parentRef: {name: gw, namespace: ns}
  listeners:
  - {name: deep, port: 443, protocol: HTTPS, hostname: "*.foo.example.org", tls: {certificateRefs: [{name: c}]}}
  - {name: stars, port: 443, protocol: HTTPS, hostname: "*.org", tls: {certificateRefs: [{name: c}]}}
  - {name: free, port: 443, protocol: HTTPS, hostname: free.test, tls: {certificateRefs: [{name: c}]}}`

// TestOverlaps: HTTPS listeners of one port that clients can take for one another say so, and
// no others do.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	secrets := map[string]*corev1.Secret{}
	for name, host := range map[string]string{"foo": "foo.test", "org": "org.test", "wild": "*.wild.test", "both": "both.test", "again": "both.test", "alone": "alone.test"} {
		secrets["ns/"+name] = certificateSecret(t, host)
	}
	said := func(res *door.Result) map[string]string {
		got := map[string]string{}
		for _, l := range res.ListenerStatus {
			for _, c := range l.Conditions {
				if c.Type == "OverlappingTLSConfig" {
					got[l.Name] = condition(l.Conditions, c.Type)
					if strings.Contains(c.Message, "set") || res.Object.Kind == gateway.KindListenerSet && strings.Contains(c.Message, `"org"`) {
						t.Errorf("%s tells of other objects: %s", l.Name, c.Message)
					}
				}
			}
		}
		return got
	}
	ingest := func(manifests string) (*secretCluster, *door.Result) {
		c := &secretCluster{newCluster(t, manifests), secrets}
		c.slots[443], c.slots[8443] = 21000, 21001
		g := c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}]
		return c, gateway.Gateways{}.Ingest(g, c, door.Settings{}, door.Past{Material: &certificate.Material{}})
	}
	_, alone := ingest(overlapping)
	want := map[string]string{
		"foo": "True OverlappingHostnames", "wild": "True OverlappingHostnames",
		"one": "True OverlappingCertificates", "two": "True OverlappingCertificates",
	}
	if diff := cmp.Diff(want, said(alone)); diff != "" {
		t.Error(diff)
	}
	c, shared := ingest(manifests(overlapping, overlappingSet))
	want["org"] = "True OverlappingHostnames"
	if diff := cmp.Diff(want, said(shared)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"deep": "True OverlappingHostnames", "stars": "True OverlappingHostnames"}, said(c.set(t, "b", "set"))); diff != "" {
		t.Error(diff)
	}
}
