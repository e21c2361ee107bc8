package pipeline_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// secretive is a crowd whose routes name one Secret.
type secretive struct {
	crowd
	secret *corev1.Secret
}

// Secret returns a copy each time, as after a change of something else in it.
func (s secretive) Secret(model.Object) (*corev1.Secret, error) { return s.secret.DeepCopy(), nil }

func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// TestPodsParseNothing: TLS texts are parsed when they change, and not when pods
// come and go; those of versions that cannot be used neither.
func TestPodsParseNothing(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	c := secretive{newCrowd(20), &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte(cert), "tls.key": []byte(key)}}}
	services := model.Objects{}
	for name, r := range c.crowd {
		services[model.Object{Kind: door.KindService, Namespace: name.Namespace, Name: name.Name}] = struct{}{}
		r.Spec.Host = r.Name + ".example.com"
		r.Spec.TLS = &routev1.TLSConfig{Termination: "reencrypt", DestinationCACertificate: strings.Repeat(cert, 200), Certificate: cert, Key: key}
		if len(r.Name) == 2 { // r0 to r9
			r.Spec.TLS.Certificate, r.Spec.TLS.Key = "", ""
			r.Spec.TLS.ExternalCertificate = &routev1.LocalObjectReference{Name: "secret"}
		}
	}
	p := pipeline.New(doors.All(), c, door.Settings{}, &model.Certificate{})
	total := func() (n int) {
		for name := range c.crowd {
			n += p.Parses(name)
		}
		return n
	}
	podsMove := func(when string) {
		t.Helper()
		before := total()
		for range 3 {
			p.Update(door.Changes{Objects: services})
		}
		if n := total() - before; n != 0 {
			t.Errorf("%s: %d texts parsed", when, n)
		}
	}
	p.Update(door.Changes{All: true})
	if n := total(); n != 40 {
		t.Errorf("%d texts parsed at the start, want 40", n)
	}
	podsMove("after the start")
	routes := model.Objects{}
	for name, r := range c.crowd {
		bad := r.DeepCopy()
		bad.Spec.TLS.Certificate, bad.Spec.TLS.ExternalCertificate, bad.Spec.TLS.Key = "broken", nil, "broken"
		c.crowd[name], routes[name] = bad, struct{}{}
	}
	p.Update(door.Changes{Objects: routes})
	if _, served := p.Count(); served != 20 {
		t.Errorf("%d of 20 last good versions serve", served)
	}
	podsMove("with versions that cannot be used")
	before := total()
	c.secret.Data["tls.crt"], c.secret.Data["tls.key"] = []byte("no certificate"), []byte("no key")
	p.Update(door.Changes{Objects: model.Objects{{Kind: door.KindSecret, Namespace: "ns", Name: "secret"}: {}}})
	if n := total() - before; n != 10 {
		t.Errorf("%d texts parsed after a change of the Secret of ten routes", n)
	}
	podsMove("with a Secret that cannot be used")
}
