package cases

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
)

// largePair is a certificate, signed by the test's authority, with a text of
// about so many bytes.
func largePair(t *testing.T, bytes int) *keyPair {
	t.Helper()
	return makePair(t, &x509.Certificate{
		Subject:         pkix.Name{CommonName: "large"},
		ExtraExtensions: []pkix.Extension{{Id: []int{1, 3, 6, 1, 4, 1, 99999, 1}, Value: make([]byte, bytes*3/4)}},
	}, pki().ca(t, "ca"), newKey(t))
}

func largeRoute(p *keyPair) string {
	return fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: large}
spec: {host: large.f.test, to: {kind: Service, name: web}, tls: {termination: edge, certificate: %q, key: %q}}
`, p.certPEM, p.keyPEM)
}

// TestLargeCertificate: certificates that fit no command are refused, however
// often they change, at the start as later. None makes HAProxy reload.
func TestLargeCertificate(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		before, first := b.reloads(), b.pid()
		sizes := []int{32 << 10, 80 << 10, 1000 << 10}
		if b.caps.MaxPayload > 64<<10 {
			sizes = sizes[1:] // the first one fits
		}
		for _, size := range sizes {
			pairs := []*keyPair{largePair(t, size), largePair(t, size)}
			for i := range 50 {
				b.apply(objectsChange(t, largeRoute(pairs[i%2])))
			}
			st, _ := b.statusOf(parseKey("f/large"))
			if st.Admitted || st.Reason != api.ReasonExtendedValidationFailed || !strings.Contains(st.Message, "bytes") {
				t.Errorf("%d bytes: status %+v", size, st)
			}
		}
		if n := b.reloads() - before; n != 0 || b.pid() != first {
			t.Errorf("%d reloads, worker %d became %d", n, first, b.pid())
		}
		b.serves(k, append([]string{"GET https://large.f.test/ -> 404 cert=default"}, sampleRequests...))
		b.stop()
		b.start()
		b.serves(k, sampleRequests)
		if st, _ := b.statusOf(parseKey("f/large")); st.Admitted {
			t.Errorf("after a start: status %+v", st)
		}
	})
}

// TestLargeBundle: a list of authorities longer than one command is sent in
// several, and changes without a reload.
func TestLargeBundle(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		route := func(first int) change {
			words := "ca:ca"
			for i := range 40 {
				words = fmt.Sprintf("ca:many-%d ", first+i) + words
			}
			return objectsChange(t, fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: re, annotations: {haproxy.router.openshift.io/timeout: 3s}}
spec: {host: re.f.test, to: {kind: Service, name: tls}, tls: {termination: reencrypt, destinationCACertificate: %q}}
`, pki().pem(t, words)))
		}
		before := b.reloads()
		for i := range 5 {
			ch := route(i)
			b.apply(ch)
			k.apply(ch)
			b.serves(k, sampleRequests)
		}
		if n := b.reloads() - before; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}
