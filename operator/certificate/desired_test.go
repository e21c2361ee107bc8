package certificate

import (
	"bytes"
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

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/test/build"
)

func newPair(t *testing.T, ca certificate.Pair, domain string) certificate.Pair {
	t.Helper()
	p, err := NewWildcard(ca, domain, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func secretOf(p certificate.Pair) *corev1.Secret {
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key}}
}

func TestDefaultCertificate(t *testing.T) {
	t.Parallel()
	ca, err := NewCA(testTime)
	if err != nil {
		t.Fatal(err)
	}
	own := newPair(t, ca, "own.example.com")
	broken := secretOf(certificate.Pair{Certificate: own.Certificate, Key: newPair(t, ca, "x").Key})
	costly := secretOf(certificate.Pair{Certificate: bytes.Repeat(own.Certificate, 11), Key: own.Key})
	commonName := secretOf(withoutNames(t))
	live := func(source string) *corev1.Secret {
		return secret("a", source, secretOf(own).Data)
	}
	generatedLive := secret("a", sourceGenerated, secretOf(newPair(t, ca, "apps.example.com")).Data)
	named := func(ic *operatorv1.IngressController) {
		ic.Spec.DefaultCertificate = &corev1.LocalObjectReference{Name: "mine"}
	}
	tests := []struct {
		name       string
		edit       func(*operatorv1.IngressController)
		named      *corev1.Secret
		live       *corev1.Secret
		now        time.Time
		wantSource string
		wantSame   *corev1.Secret // whose certificate is served
		wantReason api.Reason
		wantEffect string
	}{
		{name: "none given", wantSource: sourceGenerated},
		{name: "generated one is kept", live: generatedLive, wantSource: sourceGenerated, wantSame: generatedLive},
		{name: "generated one for another domain is replaced", live: live(sourceGenerated), wantSource: sourceGenerated},
		{name: "generated one is renewed", live: generatedLive, now: testTime.Add(330 * 24 * time.Hour), wantSource: sourceGenerated},
		{name: "given", edit: named, named: secretOf(own), wantSource: "secret/mine", wantSame: secretOf(own)},
		{
			name: "given one has a common name only", edit: named, named: commonName, wantSource: "secret/mine", wantSame: commonName,
			wantReason: api.ReasonDefaultCertificateWithoutNames, wantEffect: "subjectAltName",
		},
		{
			name: "given one is missing from the start", edit: named, wantSource: sourceGenerated,
			wantReason: api.ReasonDefaultCertificateNotFound, wantEffect: "generated",
		},
		{
			name: "given one goes missing", edit: named, live: live("secret/mine"), wantSource: "secret/mine", wantSame: live(""),
			wantReason: api.ReasonDefaultCertificateNotFound, wantEffect: "last good",
		},
		{
			name: "given one breaks", edit: named, named: broken, live: live("secret/mine"), wantSource: "secret/mine", wantSame: live(""),
			wantReason: api.ReasonDefaultCertificateInvalid, wantEffect: "last good",
		},
		{
			name: "given one costs routers too much", edit: named, named: costly, live: live("secret/mine"), wantSource: "secret/mine", wantSame: live(""),
			wantReason: api.ReasonDefaultCertificateInvalid, wantEffect: "last good",
		},
		{
			name: "the last one costs too much as well", edit: named, named: costly, live: secret("a", "secret/mine", costly.Data),
			wantSource: sourceGenerated, wantReason: api.ReasonDefaultCertificateInvalid, wantEffect: "generated",
		},
		{name: "back to generated", live: live("secret/mine"), wantSource: sourceGenerated},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := build.IngressController()
			if test.edit != nil {
				test.edit(ic)
			}
			now := test.now
			if now.IsZero() {
				now = testTime
			}
			got, findings, err := desired(input{
				ic: ic, domain: "apps.example.com", ca: ca, named: test.named, live: test.live, now: now,
			})
			if err != nil {
				t.Fatal(err)
			}
			if source := got.Annotations[api.AnnotationCertificateSource]; source != test.wantSource {
				t.Errorf("source %q, want %q", source, test.wantSource)
			}
			if err := pairOf(got).Check(); err != nil {
				t.Error(err)
			}
			if test.wantSame != nil && !bytes.Equal(got.Data["tls.crt"], test.wantSame.Data["tls.crt"]) {
				t.Error("another certificate is served")
			}
			if test.live != nil && test.wantSame == nil && bytes.Equal(got.Data["tls.crt"], test.live.Data["tls.crt"]) {
				t.Error("the certificate was not replaced")
			}
			switch {
			case test.wantReason == "" && len(findings) > 0:
				t.Errorf("findings %v", findings)
			case test.wantReason != "" && (len(findings) != 1 || findings[0].Reason != test.wantReason || !strings.Contains(findings[0].Effect, test.wantEffect)):
				t.Errorf("findings %v, want %s with %q", findings, test.wantReason, test.wantEffect)
			}
		})
	}
}

func TestCAIsKeptAndRenewed(t *testing.T) {
	t.Parallel()
	first, isNew, err := desiredCA(nil, testTime)
	if err != nil || !isNew {
		t.Fatalf("new %t, %v", isNew, err)
	}
	if _, isNew, _ := desiredCA(first, testTime.Add(5*365*24*time.Hour)); isNew {
		t.Error("replaced with years to go")
	}
	if _, isNew, _ := desiredCA(first, testTime.Add(9*365*24*time.Hour)); !isNew {
		t.Error("kept so long that it ends before the certificates that it signs")
	}
}

// withoutNames is a certificate as they were made 20 years ago.
func withoutNames(t *testing.T) certificate.Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "*.apps.example.com"},
		NotBefore: testTime.Add(-time.Hour), NotAfter: testTime.Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}
}
