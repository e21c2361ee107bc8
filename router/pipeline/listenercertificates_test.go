package pipeline_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// listenerPair is a certificate with names that listeners may have or not, and its key.
var listenerPair = sync.OnceValues(func() (chain, private []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"a.example.com", "*.b.example.com", "c.b.example.com", "OTHER.test", "*.1.2.3.4.5.6.7.8.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
})

// TestListenerCertificates: names lead to the listener that they belong to, and a Gateway of
// which HAProxy refuses a certificate loses its listeners of HTTPS until it changes.
func TestListenerCertificates(t *testing.T) {
	t.Parallel()
	listener := func(name, hostname string) gatewayv1.Listener {
		host := gatewayv1.Hostname(hostname)
		return gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: &host, TLS: &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "pair"}}}}
	}
	src := gateways{gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}}, route: &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}}}
	src.gateway.Spec.Listeners = []gatewayv1.Listener{listener("wild", "*.example.com"), listener("exact", "a.example.com"), {Name: "plain", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default"}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	found := map[string]bool{}
	for line, terms := range p.Want().SlotLines {
		found[terms.Names] = true
		if p.Owners()[line.CertID] != theGateway || !strings.Contains(p.Want().Certs[line.CertID], "PRIVATE KEY") {
			t.Errorf("certificate %s", line.CertID)
		}
	}
	for _, names := range []string{"*.example.com *.b.example.com c.b.example.com", "a.example.com"} {
		if !found[names] || len(found) != 2 {
			t.Errorf("want a line for %q, have %v", names, found)
		}
	}
	programmed := func() (all string) {
		for _, l := range p.Status(theGateway).Listeners {
			for _, c := range l.Conditions {
				if c.Type == string(gatewayv1.ListenerConditionProgrammed) {
					all += map[bool]string{true: "+", false: "-"}[c.True] + l.Name
				}
			}
		}
		return all
	}
	if got := programmed(); got != "+wild+exact+plain" {
		t.Errorf("programmed %s", got)
	}
	if _, _, ok := p.Refuse(theGateway, "no memory"); !ok || len(p.Want().SlotLines) > 0 {
		t.Errorf("refused %t, lines %v", ok, p.Want().SlotLines)
	}
	if got := programmed(); got != "-wild-exact+plain" {
		t.Errorf("after a refusal programmed %s", got)
	}
	p.Retry()
	if got := programmed(); got != "+wild+exact+plain" || len(p.Want().SlotLines) != 2 {
		t.Errorf("after another attempt programmed %s, lines %v", got, p.Want().SlotLines)
	}
	changed := src.gateway.DeepCopy()
	changed.Spec.Listeners[1] = listener("exact", "d.example.com")
	src.gateway.Spec = changed.Spec
	scope, _ := p.Update(door.Changes{Objects: model.Objects{theGateway: {}}})
	if len(scope.Entries) != 2 || len(scope.SlotLines) != 4 {
		t.Errorf("one of the listeners has another hostname; compared are %d entries, want those of the hostnames, and %d lines, want the old and the new one of two listeners: %v %v", len(scope.Entries), len(scope.SlotLines), scope.Entries, scope.SlotLines)
	}
}
