package certificate

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
)

var testTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestWildcardIsTrustedByItsCA(t *testing.T) {
	t.Parallel()
	ca, err := NewCA(testTime)
	if err != nil {
		t.Fatal(err)
	}
	domain := strings.Repeat("a", 60) + ".apps.example.com" // too long for a common name
	p, err := NewWildcard(ca, domain, testTime)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.Certificate)
	c, err := p.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"shop." + domain, domain} {
		if _, err := c.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: testTime}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := p.Covers("x.y." + domain); err == nil {
		t.Error("a wildcard covers one label only")
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	ca, err := NewCA(testTime)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCA(testTime)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewWildcard(ca, "example.com", testTime)
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	tests := []struct {
		name   string
		pair   certificate.Pair
		ca     certificate.Pair
		domain string
		after  time.Duration
		want   bool
	}{
		{"fresh", p, ca, "example.com", 0, true},
		{"with time left", p, ca, "example.com", 300 * day, true},
		{"near its end", p, ca, "example.com", 310 * day, false},
		{"another domain", p, ca, "example.net", 0, false},
		{"another CA", p, other, "example.com", 0, false},
		{"key of another", certificate.Pair{Certificate: p.Certificate, Key: ca.Key}, ca, "example.com", 0, false},
		{"empty", certificate.Pair{}, ca, "example.com", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := UsableWildcard(test.pair, test.ca, test.domain, testTime.Add(test.after)); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if UsableCA(p, testTime) {
		t.Error("a serving certificate passes as a CA")
	}
}

// TestCheckTells: owners must know what to mend, and see no key material.
func TestCheckTells(t *testing.T) {
	t.Parallel()
	ca, err := NewCA(testTime)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pair certificate.Pair
		want string
	}{
		"no certificate": {certificate.Pair{Key: ca.Key}, "tls.crt is empty"},
		"no key":         {certificate.Pair{Certificate: ca.Certificate}, "tls.key is empty"},
		"no PEM":         {certificate.Pair{Certificate: []byte("secret words"), Key: ca.Key}, "tls.crt and tls.key"},
	} {
		err := test.pair.Check()
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret words") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
