package cases

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// handshake asks the edge route over TLS and returns the whole answer.
func (b *bed) handshake(c *tls.Config, headers ...string) (string, tls.ConnectionState, error) {
	c.InsecureSkipVerify, c.ServerName = true, "edge.set.test"
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.https)), clientTimeout)
	if err != nil {
		return "", tls.ConnectionState{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	secure := tls.Client(conn, c)
	if err := secure.Handshake(); err != nil {
		return "", tls.ConnectionState{}, err
	}
	request := "GET / HTTP/1.1\r\nHost: edge.set.test\r\nConnection: close\r\n"
	for _, h := range headers {
		request += h + "\r\n"
	}
	if _, err := io.WriteString(secure, request+"\r\n"); err != nil {
		return "", tls.ConnectionState{}, err
	}
	text, err := io.ReadAll(bufio.NewReader(secure))
	if err == nil && len(text) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return string(text), secure.ConnectionState(), err
}

// speaks waits until a handshake with one TLS version succeeds, or fails.
func (b *bed) speaks(version uint16, want bool) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s works: %v", tls.VersionName(version), want), func() error {
		_, _, err := b.handshake(&tls.Config{MinVersion: version, MaxVersion: version})
		if (err == nil) != want {
			return fmt.Errorf("handshake: %s", fmt.Sprint(err))
		}
		return nil
	})
}

// TestSettingsTLSProfile: the profile decides which versions of TLS work.
func TestSettingsTLSProfile(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		for _, c := range []struct {
			profile             configv1.TLSSecurityProfile
			tls11, tls12, tls13 bool
		}{
			{configv1.TLSSecurityProfile{}, false, true, true},
			{configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, false, false, true},
			{configv1.TLSSecurityProfile{Type: configv1.TLSProfileOldType}, true, true, true},
			{configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
				Ciphers: []string{"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384"}, MinTLSVersion: configv1.VersionTLS12, Groups: []configv1.TLSGroup{configv1.TLSGroupSecP384r1},
			}}}, false, true, true},
		} {
			b.configure(func(s *operatorv1.IngressControllerSpec) { s.TLSSecurityProfile = &c.profile })
			b.speaks(tls.VersionTLS11, c.tls11)
			b.speaks(tls.VersionTLS12, c.tls12)
			b.speaks(tls.VersionTLS13, c.tls13)
		}
		_, state, err := b.handshake(&tls.Config{MinVersion: tls.VersionTLS13})
		if err != nil || state.CurveID != tls.CurveP384 || state.CipherSuite != tls.TLS_AES_256_GCM_SHA384 {
			t.Errorf("custom profile: %v, group %v, cipher %s", err, state.CurveID, tls.CipherSuiteName(state.CipherSuite))
		}
		if n := b.reasons()["spec.tlsSecurityProfile"]; n != 3 {
			t.Errorf("reloads %v", b.reasons())
		}
	})
}

// TestSettingsClientTLS: certificates of clients are asked for, checked and
// shown to pods; nothing that a client says about itself is.
func TestSettingsClientTLS(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		ca, good, revoked := pki().ca(t, "clients"), clientCert(t, "clients", "alice smith"), clientCert(t, "clients", "mallory")
		stranger := clientCert(t, "strangers", "alice smith")
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		policy := func(p operatorv1.ClientCertificatePolicy, patterns ...string) {
			t.Helper()
			b.configure(func(s *operatorv1.IngressControllerSpec) {
				s.ClientTLS = operatorv1.ClientTLS{ClientCertificatePolicy: p, ClientCA: configv1.ConfigMapNameReference{Name: "ca"}, AllowedSubjectPatterns: patterns}
			})
		}
		with := func(c tls.Certificate, headers ...string) (string, error) {
			// Sent even if the server did not ask for this authority.
			send := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
			text, _, err := b.handshake(&tls.Config{GetClientCertificate: send}, headers...)
			return text, err
		}
		status := func(what string, c tls.Certificate, want string) {
			t.Helper()
			b.eventually(what, func() error {
				text, err := with(c)
				if want == "" && err == nil || want != "" && !strings.HasPrefix(text, "HTTP/1.1 "+want) {
					return fmt.Errorf("%s %.60q", fmt.Sprint(err), text)
				}
				return nil
			})
		}
		policy(operatorv1.ClientCertificatePolicyRequired)
		status("without a CA no client gets in", good.servable, "")
		b.expectLine("GET http://plain.set.test/ -> 200")

		b.flags.ClientCA = ca.certPEM
		policy(operatorv1.ClientCertificatePolicyRequired)
		status("a known client", good.servable, "200")
		status("no certificate", tls.Certificate{}, "")
		status("another authority", stranger.servable, "")
		text, _ := with(good.servable, "X-SSL-Client-CN: root", "X-SSL-Client-Foo: root")
		if !strings.Contains(text, `"X-Ssl-Client-Cn":["alice smith"]`) || !strings.Contains(text, `"X-Ssl-Client-Verify":["0"]`) || !strings.Contains(text, `"X-Ssl-Client-Dn":["/O=org/CN=alice smith"]`) || strings.Contains(text, "root") {
			t.Errorf("the pod saw %s", text)
		}

		policy(operatorv1.ClientCertificatePolicyRequired, "/CN=alice smith$", "(broken")
		status("a subject that matches", good.servable, "200")
		status("a subject that does not", revoked.servable, "403")
		policy(operatorv1.ClientCertificatePolicyRequired, "/CN=alice smith(/|$)")
		status("an end of the subject or of an RDN", good.servable, "200")
		status("a value that reads like another RDN", clientCert(t, "clients", "mallory/CN=alice smith").servable, "403")
		policy(operatorv1.ClientCertificatePolicyRequired, "(broken")
		status("no pattern that can be used", good.servable, "403")

		policy(operatorv1.ClientCertificatePolicyOptional)
		status("optional, without", tls.Certificate{}, "200")
		status("optional, another authority", stranger.servable, "")

		b.flags.ClientCRL = crl(t, ca, revoked)
		policy(operatorv1.ClientCertificatePolicyRequired)
		status("revoked", revoked.servable, "")
		status("not revoked", good.servable, "200")

		b.flags.ClientCA = "broken"
		policy(operatorv1.ClientCertificatePolicyRequired)
		status("a broken CA admits no client", good.servable, "")
		b.expectLine("GET http://plain.set.test/ -> 200")
	})
}

func clientCert(t *testing.T, ca, name string) *keyPair {
	t.Helper()
	return makePair(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: []string{"org"}}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, pki().ca(t, ca), newKey(t))
}

func crl(t *testing.T, ca, revoked *keyPair) string {
	t.Helper()
	issuer := *ca.cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: revoked.cert.SerialNumber, RevocationTime: time.Now().Add(-time.Minute)}},
	}, &issuer, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}
