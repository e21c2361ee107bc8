package canary

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of the server: every client reaches it through the Route.
const (
	serverTimeout   = 5 * time.Second
	mostConnections = 256
	mostRequest     = 4 << 10
)

// ListenAndServe answers on both ports until the context ends.
//
// The certificate is one that only this process knows: the Route passes TLS
// through, and the prober does not look at it. So the key of the default
// certificate has no reason to be in this pod.
func ListenAndServe(ctx context.Context) error {
	certificate, err := newCertificate()
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	var listeners []net.Listener
	for _, port := range []int{Port1, Port2} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(port))
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		listeners = append(listeners, l)
	}
	return serve(ctx, listeners, certificate)
}

// serve answers on all listeners until the context ends or one of them fails.
func serve(ctx context.Context, listeners []net.Listener, certificate tls.Certificate) error {
	s := &http.Server{
		Handler:           http.HandlerFunc(answerRequest),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		ReadTimeout:       serverTimeout,
		WriteTimeout:      serverTimeout,
		MaxHeaderBytes:    mostRequest,
		ErrorLog:          log.New(io.Discard, "", 0), // Any client could fill the log.
		ReadHeaderTimeout: serverTimeout,
	}
	s.SetKeepAlivesEnabled(false)
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- s.ServeTLS(netutil.LimitListener(l, mostConnections), "", "") }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	return errors.Join(err, s.Close())
}

// answerRequest gives all clients the same answer, with the port that was asked.
func answerRequest(w http.ResponseWriter, r *http.Request) {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		w.Header().Set(headerPort, strconv.Itoa(a.Port))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, answer+"\n") // The client is gone.
}

// newCertificate makes a certificate of a new key.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "ingress-canary"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"ingress-canary"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
