package cases

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestHeaderActionsOfCertificates: a route's own header actions can hand on the
// certificate of the client, in both directions.
func TestHeaderActionsOfCertificates(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		alice := clientCert(t, "clients", "alice")
		b := settingsBed(t, version, func(b *bed) {
			b.controller.Store(&operatorv1.IngressController{})
			b.flags.ClientCA = pki().ca(t, "clients").certPEM
		})
		b.apply(parseStep(t, map[string]string{"in.yaml": `
kind: Route
metadata: {namespace: s, name: edge}
spec:
  host: edge.set.test
  to: {kind: Service, name: web}
  tls: {termination: edge}
  httpHeaders:
    actions:
      request: [{name: X-Der, action: {type: Set, set: {value: "<%[ssl_c_der,base64]>"}}}]
      response: [{name: X-Der-Back, action: {type: Set, set: {value: "%{+Q}[ssl_c_der,base64,lower]"}}}]
`}))
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.ClientTLS = operatorv1.ClientTLS{ClientCertificatePolicy: operatorv1.ClientCertificatePolicyOptional, ClientCA: configv1.ConfigMapNameReference{Name: "ca"}}
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{Actions: operatorv1.IngressControllerHTTPHeaderActions{
				Request: []operatorv1.IngressControllerHTTPHeader{{Name: "X-Der-Of-All", Action: operatorv1.IngressControllerHTTPHeaderActionUnion{
					Type: operatorv1.Set, Set: &operatorv1.IngressControllerSetHTTPHeader{Value: "%[ssl_c_der,base64]"},
				}}},
			}}
		})
		der := base64.StdEncoding.EncodeToString(alice.cert.Raw)
		b.eventually("the certificate arrives", func() error {
			// JSON writes < and > as their numbers.
			text, _, err := b.handshake(&tls.Config{Certificates: []tls.Certificate{alice.servable}})
			for _, want := range []string{`"X-Der":["\u003c` + der + `\u003e"]`, `"X-Der-Of-All":["` + der + `"]`, "x-der-back: " + strings.ToLower(der)} {
				if !strings.Contains(text, want) {
					err = errors.Join(err, fmt.Errorf("%q lacks %q", text, want))
				}
			}
			return err
		})
		b.eventually("none is an empty text", func() error {
			text, _, err := b.handshake(&tls.Config{})
			if !strings.Contains(text, `"X-Der":["\u003c\u003e"]`) {
				err = errors.Join(err, fmt.Errorf("the pod saw %q", text))
			}
			return err
		})
	})
}

// TestSettingsUniqueID: each request has an ID of its own, the same for the pod
// and for the log, whatever the client sent; a route's actions can use it.
func TestSettingsUniqueID(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		lines := syslog(t)
		b.apply(parseStep(t, map[string]string{"in.yaml": `
kind: Route
metadata: {namespace: s, name: plain}
spec:
  host: plain.set.test
  to: {kind: Service, name: web}
  httpHeaders: {actions: {request: [{name: X-Again, action: {type: Set, set: {value: "%[req.hdr(X-Id)]"}}}]}}
`}))
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			everySetting(s, lines.port)
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{UniqueId: operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: "X-Id"}}
			s.Logging.Access.HttpLogFormat = "id=%ID."
		})
		id := regexp.MustCompile(`"X-Id":\["([^"]+)"\]`)
		seen := map[string]bool{}
		for range 2 {
			last := ""
			b.eventually("an ID", func() error {
				res := (&request{method: "GET", host: "plain.set.test", target: "/", header: []string{"X-Id: mine"}}).do(b.http, b.https)
				m := id.FindStringSubmatch(res.body)
				if m == nil || m[1] == "mine" || !strings.Contains(res.body, `"X-Again":["`+m[1]+`"]`) {
					return fmt.Errorf("%d %s, %w", res.status, res.body, res.err)
				}
				last = m[1]
				return nil
			})
			seen[last] = true
			lines.expect("id=" + last + ".")
		}
		if len(seen) < 2 {
			t.Errorf("the same ID twice: %v", seen)
		}
	})
}

// TestSettingsProxyProtocolTLS: with the PROXY protocol the client's address
// counts for TLS that ends here and for passthrough alike, in both families.
func TestSettingsProxyProtocolTLS(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		b.apply(parseStep(t, map[string]string{"services": "s/tls https=8443 tls@198.18.250.94", "in.yaml": `
kind: Route
metadata: {namespace: s, name: pass, annotations: {haproxy.router.openshift.io/ip_allowlist: "203.0.113.7 2001:db8::7"}}
spec: {host: pass.set.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
`}))
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.NodePortServiceStrategyType, NodePort: &operatorv1.NodePortStrategy{Protocol: operatorv1.ProxyProtocol},
			}
		})
		ask := func(host, from string) (string, error) {
			conn, err := b.dial("127.0.0.1", b.https)
			if err != nil {
				return "", err
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "PROXY "+from+" 4444 443\r\n"); err != nil {
				return "", err
			}
			secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host})
			if _, err := io.WriteString(secure, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
				return "", err
			}
			text, err := io.ReadAll(secure)
			return string(text), err
		}
		for from, want := range map[string]string{
			"TCP4 203.0.113.7 203.0.113.8": `"Forwarded":["for=203.0.113.7;host=edge.set.test;proto=https"]`,
			"TCP6 2001:db8::7 2001:db8::8": `"Forwarded":["for=\"[2001:db8::7]\";host=edge.set.test;proto=https"]`,
		} {
			b.eventually("the address arrives: "+from, func() error {
				text, err := ask("edge.set.test", from)
				if !strings.Contains(text, want) {
					err = errors.Join(err, fmt.Errorf("no %s in %q", want, text))
				}
				return err
			})
			b.eventually("passthrough admits "+from, func() error {
				_, err := ask("pass.set.test", from)
				return err
			})
		}
		for _, from := range []string{"TCP4 203.0.113.9 203.0.113.8", "TCP6 2001:db8::9 2001:db8::8"} {
			if text, err := ask("pass.set.test", from); err == nil {
				t.Errorf("%s is not on the list and got %q", from, text)
			}
		}
	})
}
