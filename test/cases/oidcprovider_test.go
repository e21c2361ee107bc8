package cases

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// foreignProvider starts a provider that is a program of test/tools, and returns its address,
// the certificate that it shows, and what it writes.
func foreignProvider(t *testing.T, program, host, redirect string) (address, ca string, log *logBuffer) {
	t.Helper()
	binary, err := toolset.Path(program)
	if err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(host)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	file := filepath.Join(t.TempDir(), "tls.pem")
	if err := os.WriteFile(file, append([]byte(ca), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "-listen", address, "-redirect", redirect, "-certificate", file)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log = &logBuffer{}
	c.Stderr = log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return address, ca, log
}

// atCertified logs the user in with a password at the provider, and returns where that
// leads back to.
func atCertified(t *testing.T, at, ca string) *url.URL {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back *url.URL
	client := &http.Client{
		Jar: jar, Timeout: clientTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Hostname() == "198.18.250.64" {
				return nil
			}
			back = r.URL
			return http.ErrUseLastResponse
		},
	}
	form, err := client.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	_ = form.Body.Close()
	id := form.Request.URL.Query().Get("authRequestID")
	if form.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("the provider answers %d at %s", form.StatusCode, form.Request.URL)
	}
	res, err := client.PostForm(form.Request.URL.String(), url.Values{"id": {id}, "username": {"test-user2"}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if back == nil {
		t.Fatalf("the provider answers %d at %s", res.StatusCode, res.Request.URL)
	}
	return back
}

// TestOIDCCertified: login and logout with a provider that others wrote.
func TestOIDCCertified(t *testing.T) {
	t.Parallel()
	b := &loginBed{bed: newBed(t, "haproxy", newMemory())}
	b.startAgent()
	b.start()
	address, ca, _ := foreignProvider(t, "openid", "198.18.250.64", "https://shop.pz.test/oauth2/callback")
	var s step
	if err := s.services([]string{"pz/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{"client": {"client-secret": []byte("secret")}, "provider": {"ca.crt": []byte(ca)}} {
		s.change.put = append(s.change.put, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pz", Name: name}, Data: data})
	}
	s.change.put = append(s.change.put, objectsChange(t, fmt.Sprintf(`kind: ClusterRoutePolicy
metadata: {name: guard}
spec: {guard: {externalURLs: [198.18.250.64]}}
---
kind: Route
metadata: {namespace: pz, name: shop, annotations: {fairlead.dev/policy: login}}
spec: {host: shop.pz.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: pz, name: login}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: none}]
  authentication:
    oidc:
      {issuer: "https://%s/", clientID: web, clientSecret: client, caSecret: provider, scopes: [profile, email, offline_access],
       claimsToHeaders: [{claim: sub, header: X-User}], forward: {idToken: X-Token}}`, address)).put...)
	b.apply(s.change)
	w := b.browser("shop.pz.test")
	b.eventually("a login begins", func() error { return w.wants("GET", "/deep?a=b", 302) })
	w.jar = map[string]string{}
	begun := w.do("GET", "/deep?a=b")
	back := atCertified(t, begun.header.Get("Location"), ca)
	r := w.do("GET", back.RequestURI())
	if r.status != 302 || r.header.Get("Location") != "https://shop.pz.test/deep?a=b" {
		t.Fatalf("the login ends with %d, %v: %s", r.status, r.header, r.body)
	}
	if r = w.do("GET", "/deep?a=b"); r.pod == nil || r.pod.Header.Get("X-User") != "id2" || r.pod.Header.Get("X-Token") == "" {
		t.Fatalf("status %d, the pod sees %v", r.status, r.pod)
	}
	w.must("GET", back.RequestURI(), 400)
	if r = w.do("GET", "/oauth2/logout"); r.status != 302 {
		t.Errorf("logout: %d %s", r.status, r.body)
	} else if at, err := url.Parse(r.header.Get("Location")); err != nil || at.Host != address || at.Query().Get("id_token_hint") == "" {
		t.Errorf("the logout leads to %s", at)
	}
	w.must("GET", "/", 302)
}
