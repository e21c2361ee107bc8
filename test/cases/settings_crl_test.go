package cases

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/revocation"
)

// TestSettingsRevocation: lists that the client CA names are fetched. Until
// they are, and where they are missing, clients with a certificate are refused.
func TestSettingsRevocation(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		var body atomic.Pointer[string]
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			text := body.Load()
			if text == nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = w.Write([]byte(*text))
		}))
		defer server.Close()
		ca := makePair(t, &x509.Certificate{
			Subject: pkix.Name{CommonName: "fetched clients"}, IsCA: true, BasicConstraintsValid: true, CRLDistributionPoints: []string{server.URL},
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}, nil, newKey(t))
		client := func(name string) *keyPair {
			return makePair(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca, newKey(t))
		}
		good, revoked := client("alice"), client("mallory")

		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		b.flags.ClientCA = ca.certPEM
		fetcher := revocation.New(revocation.Options{Retry: 100 * time.Millisecond, Log: b.logger()})
		defer background(func(ctx context.Context) { _ = fetcher.Run(ctx) })()
		fetcher.Want(ca.certPEM)
		use := func() {
			b.flags.Revocations = fetcher.Lists()
			b.configure(func(s *operatorv1.IngressControllerSpec) {
				s.ClientTLS = operatorv1.ClientTLS{ClientCertificatePolicy: operatorv1.ClientCertificatePolicyOptional, ClientCA: configv1.ConfigMapNameReference{Name: "ca"}}
			})
		}
		status := func(what string, c tls.Certificate, want string) {
			t.Helper()
			b.eventually(what, func() error {
				send := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
				text, _, err := b.handshake(&tls.Config{GetClientCertificate: send})
				if want == "" && err == nil || want != "" && !strings.HasPrefix(text, "HTTP/1.1 "+want) {
					return fmt.Errorf("%s %.60q", fmt.Sprint(err), text)
				}
				return nil
			})
		}
		fetcher.Wait(t.Context())
		use()
		status("without a list no certificate counts", good.servable, "")
		status("without a certificate there is nothing to check", tls.Certificate{}, "200")
		found := *b.findings.Load()
		if len(found) != 1 || found[0].Reason != api.ReasonRevocationListUnavailable || !strings.Contains(found[0].Message, "404") {
			t.Errorf("findings %v", found)
		}
		list := crl(t, ca, revoked)
		body.Store(&list)
		b.eventually("the list is fetched", func() error {
			if l := fetcher.Lists(); len(l.Problems) > 0 {
				return fmt.Errorf("%q", l.Problems)
			}
			return nil
		})
		use()
		status("revoked", revoked.servable, "")
		status("not revoked", good.servable, "200")
		if found := *b.findings.Load(); len(found) != 0 {
			t.Errorf("findings %v", found)
		}
	})
}
