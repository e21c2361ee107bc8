package gateway_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// unread is the error of a Secret that is being read.
type unread struct{ error }

func (unread) Pending() bool { return true }

// secretCluster has Secrets by NAMESPACE/NAME, nil for one that is being read.
type secretCluster struct {
	*cluster
	secrets map[string]*corev1.Secret
}

func (c *secretCluster) Secret(key model.Object) (*corev1.Secret, error) {
	secret, known := c.secrets[key.Namespace+"/"+key.Name]
	if known && secret == nil {
		return nil, unread{errors.New("is being read")}
	}
	return secret, nil
}

func certificateSecret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	pair, err := certfile.SelfSigned(name)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(pair.PEM)
	chain, key := &bytes.Buffer{}, &bytes.Buffer{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		into := key
		if block.Type == "CERTIFICATE" {
			into = chain
		}
		if err := pem.Encode(into, block); err != nil {
			t.Fatal(err)
		}
	}
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: chain.Bytes(), corev1.TLSPrivateKeyKey: key.Bytes()}}
}

// TestListenerNamesAnotherSecret: while a Secret that a listener has come to name is being read,
// it shows what it has shown so far, as far as it still may.
func TestListenerNamesAnotherSecret(t *testing.T) {
	t.Parallel()
	const grant = `
kind: ReferenceGrant
metadata: {namespace: far, name: keys}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: ns}], to: [{group: "", kind: Secret}]}`
	listening := func(refs string) string {
		return "kind: Gateway\nmetadata: {namespace: ns, name: gw, uid: g}\nspec:\n  gatewayClassName: fairlead\n  listeners:\n" +
			"  - {name: tls, port: 443, protocol: HTTPS, hostname: a.test, tls: {certificateRefs: [" + refs + "]}}"
	}
	secrets := map[string]*corev1.Secret{"ns/one": certificateSecret(t, "one.test"), "ns/two": certificateSecret(t, "two.test"), "far/three": certificateSecret(t, "three.test")}
	past := door.Past{Material: &certificate.Material{}}
	show := func(want string, manifests ...string) {
		t.Helper()
		c := &secretCluster{newCluster(t, strings.Join(manifests, "\n---\n")), secrets}
		c.slots = map[int32]int32{443: 21443}
		g, ok := c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}].(*gatewayv1.Gateway)
		if !ok {
			t.Fatal("no Gateway")
		}
		res := gateway.Gateways{}.Ingest(g, c, door.Settings{}, past)
		past.Listeners = res.Listeners
		var shown []string
		for i := range res.Listeners {
			for n := range res.Listeners[i].Certificates {
				shown = append(shown, res.Listeners[i].Certificates[n].Secret.Name)
			}
		}
		if slices.Sort(shown); strings.Join(shown, " ") != want {
			t.Errorf("%s: shown are %v, want %s", manifests[0], shown, want)
		}
	}
	show("one", listening("{name: one}"))
	secrets["ns/new"] = nil
	show("one", listening("{name: new}"))
	show("one two", listening("{name: two}, {name: new}"))
	secrets["ns/new"] = certificateSecret(t, "new.test")
	show("new", listening("{name: new}"))
	show("", listening("{name: none}")) // does not exist, as is known
	show("three", listening("{name: three, namespace: far}"), grant)
	secrets["ns/late"] = nil
	show("three", listening("{name: late}"), grant)
	show("", listening("{name: late}")) // the grant has gone
}
