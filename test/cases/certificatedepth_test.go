package cases

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// signedBelow are an authority, one below it, and certificates of clients that each has signed.
type signedBelow struct {
	root          *keyPair
	direct, below tls.Certificate
}

// newSignedBelow makes them; pathLength 0 forbids the intermediate one.
func newSignedBelow(t *testing.T, name string, pathLength int) signedBelow {
	t.Helper()
	authority := func(name string, length int, parent *keyPair) *keyPair {
		return makePair(t, &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
			MaxPathLen: length, MaxPathLenZero: length == 0,
		}, parent, newKey(t))
	}
	leaf := func(parent *keyPair) *keyPair {
		return makePair(t, &x509.Certificate{
			Subject: pkix.Name{CommonName: "alice"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, parent, newKey(t))
	}
	s := signedBelow{root: authority(name, pathLength, nil)}
	middle := authority(name+" below", -1, s.root)
	s.direct, s.below = leaf(s.root).servable, leaf(middle).servable
	s.below.Certificate = append(s.below.Certificate, middle.cert.Raw)
	return s
}

// TestClientCertificateDepth: with depth 1, a certificate of an intermediate authority is refused in
// the handshake, and authorities that cannot have that close the paths.
func TestClientCertificateDepth(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		flat, deep := newSignedBelow(t, "flat", 0), newSignedBelow(t, "deep", -1)
		quoted := func(text string) string {
			b, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		var objects []string
		for name, of := range map[string]struct {
			ca    *keyPair
			depth string
		}{"flat": {flat.root, ", depth: 1"}, "deep": {deep.root, ""}, "wrong": {deep.root, ", depth: 1"}} {
			objects = append(objects, fmt.Sprintf("kind: Secret\nmetadata: {namespace: rt, name: %[1]s}\nstringData: {ca.crt: %[2]s}\n---\n"+
				"kind: Route\nmetadata: {namespace: rt, name: %[1]s}\nspec: {host: %[1]s.rt.test, to: {kind: Service, name: web}, tls: {termination: edge}}\n---\n"+
				"kind: RoutePolicy\nmetadata: {namespace: rt, name: %[1]s}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: %[1]s}], authentication: {clientCertificate: {caSecret: %[1]s%[3]s}}}\n",
				name, quoted(of.ca.certPEM), of.depth))
		}
		b := newBed(t, version, newMemory())
		b.ratedBed(t, strings.Join(append(objects, ratedRoute("free", "", "")), "---\n"), "free.rt.test")
		status := func(host string, shown ...tls.Certificate) (int, error) {
			conn, err := tls.Dial("tcp", fmt.Sprint("127.0.0.1:", b.https), &tls.Config{InsecureSkipVerify: true, ServerName: host + ".rt.test", Certificates: shown})
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(clientTimeout))
			if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s.rt.test\r\nConnection: close\r\n\r\n", host); err != nil {
				return 0, err
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return 0, err
			}
			_ = r.Body.Close()
			return r.StatusCode, nil
		}
		for name, test := range map[string]struct {
			host  string
			shown tls.Certificate
			want  int
		}{
			"signed itself":                      {"flat", flat.direct, http.StatusOK},
			"signed below, with depth":           {"flat", flat.below, 0},
			"signed by another one":              {"flat", deep.direct, 0},
			"signed itself, without depth":       {"deep", deep.direct, http.StatusOK},
			"signed below, without depth":        {"deep", deep.below, http.StatusOK},
			"an authority that cannot have that": {"wrong", deep.direct, http.StatusServiceUnavailable},
		} {
			if got, err := status(test.host, test.shown); got != test.want || (err == nil) != (test.want != 0) {
				t.Errorf("%s: status %d, want %d; %v", name, got, test.want, err)
			}
		}
	})
}
