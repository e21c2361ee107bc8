// Command demoapp is the sample pod of the demo and the tests: a web server that tells who answered and what it was asked.
//
//	GET  /            JSON: app, version, pod, node, method, host, path, query, headers, tls, protocol
//	GET  /text        one line: app version pod
//	GET  /slow?ms=N   answers after N milliseconds
//	GET  /status/N    answers with status N
//	GET  /bytes/N     N bytes
//	any  /echo        the request's body
//	any  /tunnel      Upgrade: any protocol, then every byte comes back
//	GET  /healthz     200
//
// A datagram is answered with the same line as /text, and its own content.
//
// Environment: APP and VERSION (its name), POD and NODE (downward API), HTTP_ADDRESS (":8080"), HTTPS_ADDRESS (":8443"), UDP_ADDRESS (":8080"),
// TLS_DIR (a folder with tls.crt and tls.key; without it a self-signed certificate for TLS_HOST or "demo").
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		slog.Error("demoapp failed", "err", err)
		os.Exit(1)
	}
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// run serves all ports until ctx ends, then lets requests finish.
func run(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the host name: %w", err)
	}
	app := &app{
		name: setting("APP", "demo"), version: setting("VERSION", "v1"), pod: setting("POD", host), node: setting("NODE", ""),
	}
	certificate, err := loadCertificate(os.Getenv("TLS_DIR"), setting("TLS_HOST", "demo"))
	if err != nil {
		return err
	}
	plain, secure := newServer(setting("HTTP_ADDRESS", ":8080"), app), newServer(setting("HTTPS_ADDRESS", ":8443"), app)
	secure.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ignoreClosed(plain.ListenAndServe()) })
	group.Go(func() error { return ignoreClosed(secure.ListenAndServeTLS("", "")) })
	group.Go(func() error { return app.datagrams(ctx, setting("UDP_ADDRESS", ":8080")) })
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return errors.Join(plain.Shutdown(ending), secure.Shutdown(ending))
	})
	return group.Wait()
}

// newServer speaks HTTP/1.1 and HTTP/2, the latter also without TLS for clients that start with it.
func newServer(address string, handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Addr: address, Handler: handler, Protocols: &protocols, ReadHeaderTimeout: 10 * time.Second}
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}
