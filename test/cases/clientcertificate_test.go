package cases

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"golang.org/x/net/http2"

	"github.com/fairlead/fairlead/router/model"
)

// certObjects are hosts that ask clients for certificates, and hosts that do not.
const certObjects = `
kind: Secret
metadata: {namespace: cc, name: a}
stringData: {ca.crt: ${ca client-a}}
---
kind: Secret
metadata: {namespace: cc, name: b}
stringData: {ca.crt: ${ca client-b}}
---
kind: Route
metadata: {namespace: cc, name: a, annotations: {fairlead.dev/client-ca: a}}
spec: {host: a.cc.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: cc, name: b, annotations: {fairlead.dev/client-ca: b, fairlead.dev/client-certificate: Optional}}
spec: {host: b.cc.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: cc, name: b-admin, annotations: {fairlead.dev/client-ca: b}}
spec: {host: b.cc.test, path: /admin, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: cc, name: own, annotations: {fairlead.dev/client-ca: a}}
spec: {host: own.cc.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect, certificate: ${cert own}, key: ${key own}}}
---
kind: Route
metadata: {namespace: cc, name: wild, annotations: {fairlead.dev/client-ca: a}}
spec: {host: any.wild.cc.test, wildcardPolicy: Subdomain, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: cc, name: within}
spec: {host: open.wild.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: Route
metadata: {namespace: cc, name: open}
spec: {host: open.cc.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: cc, name: subjects}
spec: {host: subjects.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: subjects}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: subjects}]
  authentication:
    clientCertificate:
      caSecret: a
      mode: Optional
      subjects: [{value: "CN=ann,OU=staff"}, {type: Prefix, value: "CN=svc-"}, {attribute: CN, value: "bob"}]
---
kind: Route
metadata: {namespace: cc, name: named}
spec: {host: named.cc.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: named}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: named}]
  authentication: {clientCertificate: {caSecret: a, sans: [{kind: DNS, value: a.test}, {kind: DNS, value: b.test}]}}
---
kind: Route
metadata: {namespace: cc, name: named-admin}
spec: {host: named.cc.test, path: /admin, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: cc, name: named-admin}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: named-admin}]
  authentication: {clientCertificate: {caSecret: a, sans: [{kind: DNS, value: a.test}]}}
`

// certLines are what the hosts answer.
var certLines = []string{
	// The certificate itself.
	"GET https://a.cc.test/ as=alice@client-a -> 200 seen:X-Ssl-Client-Cn=alice seen:X-Ssl-Client-Verify=0 seen:Ssl-Client-Verify=SUCCESS seen:Ssl-Client-Subject-Dn=CN=alice",
	"GET https://a.cc.test/ -> closed",
	"GET https://a.cc.test/ as=mallory@client-b -> closed",
	"GET https://a.cc.test/ as=expired@client-a -> closed",
	"GET https://a.cc.test/ as=carol@middle@client-a -> 200 seen:X-Ssl-Client-Cn=carol",
	"GET https://a.cc.test/ as=carol@middle@client-b -> closed",
	"GET https://a.cc.test/ as=alice@client-a h:X-SSL-Client-CN=root h:X_SSL_Client_CN=root h:ssl-client-verify=root h:ssl_client_verify=root -> 200 seen:X-Ssl-Client-Cn=alice seen:X_ssl_client_cn= seen:Ssl-Client-Verify=SUCCESS seen:Ssl_client_verify=",
	"GET https://own.cc.test/ as=alice@client-a -> 200",
	"GET https://own.cc.test/ -> closed",
	// Plain HTTP.
	"GET http://a.cc.test/ -> 403",
	"GET http://a.cc.test/ h:X-SSL-Client-Verify=0 -> 403",
	"GET http://own.cc.test/ -> 302 location=https://own.cc.test/",
	"GET http://b.cc.test/ h:ssl-client-verify=SUCCESS h:X-SSL-Client-CN=root -> 200 seen:Ssl-Client-Verify= seen:X-Ssl-Client-Cn=",
	"GET http://b.cc.test/admin -> 403",
	// One that may be missing, but not be wrong; and paths that demand one.
	"GET https://b.cc.test/ -> 200 seen:Ssl-Client-Verify=NONE seen:X-Ssl-Client-Cn=",
	"GET https://b.cc.test/ as=bob@client-b -> 200 seen:Ssl-Client-Verify=SUCCESS",
	"GET https://b.cc.test/ as=alice@client-a -> closed",
	"GET https://b.cc.test/admin -> 403",
	"GET https://b.cc.test/%61dmin -> 403",
	"GET https://b.cc.test/admin as=bob@client-b -> 200",
	// The host of the handshake and that of the request.
	"GET https://a.cc.test/ sni=- -> 421",
	"GET https://a.cc.test/ sni=- as=alice@client-a -> 421",
	"GET https://a.cc.test/ sni=open.cc.test as=alice@client-a -> 421",
	"GET https://a.cc.test/ sni=unknown.cc.test as=alice@client-a -> 421",
	"GET https://a.cc.test/ sni=b.cc.test -> 421",
	"GET https://a.cc.test/ sni=b.cc.test as=bob@client-b -> 421",
	"GET https://a.cc.test/ sni=own.cc.test as=alice@client-a -> 421",
	"GET https://A.CC.test./ sni=b.cc.test as=bob@client-b -> 421",
	"GET https://a.cc.test:443/ sni=open.cc.test -> 421",
	"GET https://a.cc.test:8443/ sni=b.cc.test -> 421",
	"GET https://A.cc.TEST/ sni=A.CC.TEST as=alice@client-a -> 200",
	"GET https://a.cc.test./ sni=a.cc.test as=alice@client-a -> 200",
	"GET https://a.cc.test:443/ sni=a.cc.test as=alice@client-a -> 200",
	"GET https://A.CC.TEST:443/ sni=A.CC.TEST -> closed",
	"GET https://b.cc.test/admin sni=open.cc.test as=bob@client-b -> 421",
	"GET https://b.cc.test/ sni=open.cc.test -> 421",
	// Wildcards: each name is a host of its own.
	"GET https://x.wild.cc.test/ as=alice@client-a -> 200",
	"GET https://x.wild.cc.test/ -> closed",
	"GET https://x.wild.cc.test/ sni=y.wild.cc.test as=alice@client-a -> 421",
	"GET https://x.wild.cc.test/ sni=open.wild.cc.test -> 421",
	"GET https://open.wild.cc.test/ -> 200",
	"GET https://open.wild.cc.test/ as=mallory@client-b -> 200 seen:X-Ssl-Client-Cn=",
	"GET http://x.wild.cc.test/ -> 403",
	// Hosts that ask for nothing answer on any connection, and trust nothing of it.
	"GET https://open.cc.test/ -> 200",
	"GET https://open.cc.test/ sni=a.cc.test as=alice@client-a h:X-SSL-Client-CN=root -> 200 seen:X-Ssl-Client-Cn=",
	// Subjects.
	"GET https://subjects.cc.test/ -> 403",
	"GET https://subjects.cc.test/ as=ann/staff@client-a -> 200",
	"GET https://subjects.cc.test/ as=ann@client-a -> 403",
	"GET https://subjects.cc.test/ as=ann/staffing@client-a -> 403",
	"GET https://subjects.cc.test/ as=svc-one/other@client-a -> 200",
	"GET https://subjects.cc.test/ as=svc@client-a -> 403",
	"GET https://subjects.cc.test/ as=bob/anything@client-a -> 200",
	"GET https://subjects.cc.test/ as=bobby@client-a -> 403",
	"GET https://subjects.cc.test/ as=ann/staff@client-b -> closed",
	// Paths that differ by alternative names alone are told apart in any spelling.
	"GET https://named.cc.test/ as=bo~dns:b.test@client-a -> 200",
	"GET https://named.cc.test/admin as=bo~dns:b.test@client-a -> 403",
	"GET https://named.cc.test/%61dmin as=bo~dns:b.test@client-a -> 403",
	"GET https://named.cc.test//admin as=bo~dns:b.test@client-a -> 400",
	"GET https://named.cc.test/%61dmin as=al~dns:a.test@client-a -> 200",
}

func certBed(t *testing.T, version string) *bed {
	t.Helper()
	cluster := newMemory()
	b := newBed(t, version, cluster)
	b.start()
	s := cluster.Settings()
	s.WildcardsAllowed, s.HTTP2 = true, true
	all := objectsChange(t, certObjects)
	all.settings = &s
	var services step
	if err := services.services([]string{"cc/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	all.put = append(services.change.put, all.put...)
	b.apply(all)
	return b
}

// TestClientCertificates: a host asks for certificates of its CA, and no connection for
// another host opens it; nothing of it needs a reload.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := certBed(t, version)
		before := b.reloads()
		for _, line := range certLines {
			b.expectLine(line)
			b.expectLine(line + " ") // again, after what other lines left
		}
		b.expectLine("GET https://own.cc.test/ as=alice@client-a alpn=h2,http/1.1 -> 200")
		b.expectLine("GET https://own.cc.test/ sni=b.cc.test alpn=h2,http/1.1 -> 421")
		if n := b.reloads() - before; n > 0 && b.caps.DynamicBackends {
			t.Errorf("%d reloads", n)
		}
		// All of it is in the files, too.
		b.stop()
		b.start()
		for _, line := range certLines {
			b.expectLine(line)
		}
	})
}

// TestClientCertificateSessions: no session of another host, or of the time before the CA
// was replaced, is resumed where a certificate is asked for.
func TestClientCertificateSessions(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := certBed(t, version)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			for _, from := range []struct{ host, as string }{{"b.cc.test", "bob@client-b"}, {"b.cc.test", ""}, {"open.cc.test", "alice@client-a"}, {"own.cc.test", "alice@client-a"}} {
				sessions := &oneSession{}
				if _, err := b.talk(from.host, from.as, version, sessions); err != nil {
					t.Fatal(err)
				}
				if sessions.last == nil && b.caps.BoundSessions {
					t.Errorf("%s gives no session", from.host)
				}
				sessions.frozen = true
				if status, err := b.talk("a.cc.test", "", version, sessions); err == nil && status == http.StatusOK {
					t.Errorf("TLS %x: a session of %s as %q opens another host without a certificate", version, from.host, from.as)
				}
				if status, err := b.talk("a.cc.test", "mallory@client-b", version, sessions); err == nil && status == http.StatusOK {
					t.Errorf("TLS %x: a session of %s as %q opens another host with a foreign certificate", version, from.host, from.as)
				}
			}
			sessions := &oneSession{}
			for range 2 {
				if status, err := b.talk("a.cc.test", "alice@client-a", version, sessions); err != nil || status != http.StatusOK {
					t.Errorf("TLS %x: the same host again: %d, %v", version, status, err)
				}
			}
			sessions.frozen = true
			b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: a}\nstringData: {ca.crt: ${ca client-c}}"))
			b.expectLine("GET https://a.cc.test/ as=dora@client-c -> 200")
			if status, err := b.talk("a.cc.test", "alice@client-a", version, sessions); err == nil && status == http.StatusOK {
				t.Errorf("TLS %x: a session of before opens the host after the CA was replaced", version)
			}
			b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: a}\nstringData: {ca.crt: ${ca client-a}}"))
			b.expectLine("GET https://a.cc.test/ as=alice@client-a -> 200")
		}
	})
}

// oneSession keeps the last session, whatever the host.
type oneSession struct {
	last   *tls.ClientSessionState
	frozen bool
}

func (s *oneSession) Get(string) (*tls.ClientSessionState, bool) { return s.last, s.last != nil }

func (s *oneSession) Put(_ string, session *tls.ClientSessionState) {
	if !s.frozen && session != nil {
		s.last = session
	}
}

// talk sends a request over a connection that may resume a session.
func (b *bed) talk(host, as string, version uint16, sessions tls.ClientSessionCache) (status int, err error) {
	return b.talkAt(b.https, host, as, version, sessions)
}

func (b *bed) talkAt(port int, host, as string, version uint16, sessions tls.ClientSessionCache) (status int, err error) {
	c := &tls.Config{InsecureSkipVerify: true, ServerName: host, MinVersion: version, MaxVersion: version, ClientSessionCache: sessions}
	if as != "" {
		own, err := pki().client(as)
		if err != nil {
			return 0, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	conn, err := b.dial("127.0.0.1", port)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	secure := tls.Client(conn, c)
	if _, err := io.WriteString(secure, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
		return 0, err
	}
	var r response
	r.read(secure, "GET")
	return r.status, r.err
}

// TestClientCertificateRotation: a CA that is added or replaced counts at once, for open
// connections too, and needs no reload.
func TestClientCertificateRotation(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := certBed(t, version)
		own, err := pki().client("alice@client-a")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := b.dial("127.0.0.1", b.https)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: "own.cc.test", NextProtos: []string{"h2"}, Certificates: []tls.Certificate{*own}})
		open, err := (&http2.Transport{}).NewClientConn(secure) //nolint:staticcheck // its successor dials by itself
		if err != nil {
			t.Fatal(err)
		}
		ask := func(host string, want int) {
			t.Helper()
			b.eventually(fmt.Sprint(host, " answers ", want), func() error {
				req, err := http.NewRequest(http.MethodGet, "https://"+host+"/", http.NoBody)
				if err != nil {
					return err
				}
				res, err := open.RoundTrip(req)
				if err != nil {
					return err
				}
				defer res.Body.Close()
				if res.StatusCode != want {
					return fmt.Errorf("status %d", res.StatusCode)
				}
				return nil
			})
		}
		ask("own.cc.test", 200)
		// Browsers send requests for other hosts over the connection, too.
		ask("a.cc.test", 421)
		ask("b.cc.test", 421)
		ask("open.cc.test", 200)
		before := b.reloads()
		b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: a}\nstringData: {ca.crt: ${ca client-c}}"))
		ask("own.cc.test", 421)
		b.expectLine("GET https://own.cc.test/ as=dora@client-c -> 200")
		b.expectLine("GET https://own.cc.test/ as=alice@client-a -> closed")
		// The Secret goes: nothing gets through, with whatever certificate.
		b.apply(change{del: []model.Object{parseObject("Secret", "cc/a")}})
		if b.caps.DynamicBackends { // else it takes a reload, which ends idle connections
			ask("own.cc.test", 503)
		}
		b.expectLine("GET https://own.cc.test/ as=dora@client-c -> 503")
		b.expectLine("GET https://a.cc.test/ -> 503")
		b.expectLine("GET http://a.cc.test/ -> 503")
		b.apply(objectsChange(t, "kind: Secret\nmetadata: {namespace: cc, name: a}\nstringData: {ca.crt: ${ca client-a}}"))
		b.expectLine("GET https://own.cc.test/ as=alice@client-a -> 200")
		b.expectLine("GET https://own.cc.test/ -> closed")
		if n := b.reloads() - before; n > 0 && b.caps.DynamicBackends {
			t.Errorf("%d reloads", n)
		}
	})
}

// TestClientCertificatesOfAll: an IngressController that asks all clients for certificates
// goes on doing so, and what single hosts ask for is closed, not dropped.
func TestClientCertificatesOfAll(t *testing.T) {
	t.Parallel()
	b := settingsBed(t, "haproxy", func(b *bed) {
		b.controller.Store(&operatorv1.IngressController{})
		b.flags.ClientCA = pki().ca(t, "clients").certPEM
	})
	b.apply(objectsChange(t, `
kind: Secret
metadata: {namespace: s, name: a}
stringData: {ca.crt: ${ca client-a}}
---
kind: Route
metadata: {namespace: s, name: own, annotations: {fairlead.dev/client-ca: a}}
spec: {host: own.set.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
`))
	b.expectLine("GET https://own.set.test/ as=alice@client-a -> 200")
	b.configure(func(s *operatorv1.IngressControllerSpec) {
		s.ClientTLS.ClientCertificatePolicy, s.ClientTLS.ClientCA.Name = operatorv1.ClientCertificatePolicyRequired, "ca"
	})
	for _, line := range []string{
		"GET https://own.set.test/ as=alice@client-a -> closed", "GET https://own.set.test/ as=ann@clients -> 503", "GET http://own.set.test/ -> 503",
		"GET https://edge.set.test/ -> closed", "GET https://edge.set.test/ as=ann@clients -> 200", "GET https://edge.set.test/ sni=own.set.test as=alice@client-a -> closed",
	} {
		b.expectLine(line)
	}
}
