package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// certificateLook is how often the files of the certificate are looked at.
const certificateLook = 10 * time.Second

// certificate is read again when its files change, as kubelets change those of Secrets.
type certificate struct {
	cert, key string

	mu     sync.Mutex
	looked time.Time
	// changed is when the files were, and read what was read of them last.
	changed time.Time
	read    *tls.Certificate
}

// get returns the newest certificate that could be read.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read != nil && time.Since(c.looked) < certificateLook {
		return c.read, nil
	}
	c.looked = time.Now()
	info, err := os.Stat(c.cert)
	if err == nil && c.read != nil && info.ModTime().Equal(c.changed) {
		return c.read, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	switch {
	case err == nil:
		c.read, c.changed = &pair, info.ModTime()
	case c.read == nil:
		return nil, fmt.Errorf("read the serving certificate: %w", err)
	}
	return c.read, nil // one that cannot be read leaves the former in use
}

// secure serves TLS on a listener, with a bound on connections. With the CA of a proxy, clients may
// show a certificate, and one of another CA ends the handshake.
func secure(l net.Listener, cert, key, proxyCA string) (net.Listener, error) {
	c := &certificate{cert: cert, key: key}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"http/1.1"}}
	if proxyCA != "" {
		text, err := os.ReadFile(proxyCA)
		if err != nil {
			return nil, fmt.Errorf("read the CA of the proxy: %w", err)
		}
		config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read the CA of the proxy: %s has no certificate", proxyCA)
		}
	}
	return tls.NewListener(netutil.LimitListener(l, connections), config), nil
}
