package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
)

// listen says where and how the protocol is served.
type listen struct {
	address                    string
	cert, key, clientCA, token string
}

func (l *listen) flags(f *flag.FlagSet) {
	f.StringVar(&l.address, "listen", "127.0.0.1:8443", "`address` to serve at: host:port, or unix:///path of a socket")
	f.StringVar(&l.cert, "tls-cert", "", "`file` with the certificate; without it, plain HTTP is served")
	f.StringVar(&l.key, "tls-key", "", "`file` with its key")
	f.StringVar(&l.clientCA, "client-ca", "", "`file` with the CA of callers' certificates; with it, callers need one")
	f.StringVar(&l.token, "token", "", "`file` with the bearer token that callers must show; it is read at every call")
}

// readTime is how long a caller may take for a request's header.
const readTime = 10 * time.Second

// serve serves until ctx ends.
func (l *listen) serve(ctx context.Context, handler *webhook.Handler) error {
	if l.token != "" {
		handler.Token = func() (string, error) {
			text, err := os.ReadFile(l.token)
			return string(text), err
		}
	}
	network, address := "tcp", l.address
	if path, ok := strings.CutPrefix(l.address, "unix://"); ok {
		network, address = "unix", path
	}
	if network == "tcp" && l.token != "" && l.cert == "" {
		return errors.New("--token needs --tls-cert: a token must not go over plain HTTP")
	}
	config, err := l.tls()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTime, TLSConfig: config}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // the end is meant
	defer stop()
	slog.Info("serving the cloud hook", "address", listener.Addr().String(), "tls", config != nil, "hook", handler.Balancers.Name())
	if config != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// tls returns nil for plain HTTP. The certificate is read at every handshake,
// so that it can be renewed.
func (l *listen) tls() (*tls.Config, error) {
	if l.cert == "" {
		return nil, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(l.cert, l.key)
		return &pair, err
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() }}
	if l.clientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(l.clientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("--client-ca holds no certificate")
	}
	return config, nil
}
