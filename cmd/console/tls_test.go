package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs itself, and is a certificate of a server and of a client, too.
func authority(t *testing.T, dir, name string) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err = tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

// TestProxyCertificate: only a certificate of the proxy's CA counts as verified, and one of another
// CA ends the handshake.
func TestProxyCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serving, key, _ := authority(t, dir, "serving")
	ca, _, proxy := authority(t, dir, "proxy")
	_, _, other := authority(t, dir, "other")
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secured, err := secure(l, serving, key, ca)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.VerifiedChains) == 0 {
			w.WriteHeader(http.StatusForbidden)
		}
	})}
	defer server.Close()
	go func() { _ = server.Serve(secured) }()
	for name, tt := range map[string]struct {
		shown []tls.Certificate
		code  int // 0 for none
	}{"the proxy": {[]tls.Certificate{proxy}, 200}, "none": {nil, 403}, "another CA": {[]tls.Certificate{other}, 0}} {
		config := &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(tt.shown) == 0 {
				return &tls.Certificate{}, nil
			}
			return &tt.shown[0], nil
		}}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		code := 0
		if err == nil {
			code = answer.StatusCode
			_ = answer.Body.Close()
		}
		if code != tt.code {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
	if _, err := secure(l, serving, key, key); err == nil {
		t.Error("a file without a certificate is taken as the CA")
	}
}
