package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

const (
	// longestKey is the longest RSA key that a route may have, in bits.
	longestKey = 4096
	// sessionsPerSecond is how many new TLS sessions one source may make.
	sessionsPerSecond = 100
)

// threads measures what HAProxy's threads cost and give: the memory of an idle process,
// and how long clients of a small page wait, in quiet and while another client makes
// new TLS sessions with a key that takes long. All share the machine's processors.
func (b *bench) threads(ctx context.Context) error {
	const name = "slowkey"
	if err := b.slowKey(ctx, name); err != nil {
		return err
	}
	load := rig.Speed{Port: rig.HTTPPort, Prefix: "fill", Hosts: warmHosts, Connections: 8, For: 4 * time.Second, Processor: othersProcessor}
	for _, n := range []int{1, 2, 16} {
		if err := b.router.Stop(); err != nil {
			return err
		}
		b.progress("a router with %d threads of HAProxy", n)
		if err := b.startRouter(ctx, fmt.Sprint("threads-", n), "--threads", fmt.Sprint(n)); err != nil {
			return err
		}
		_, idle := b.router.Memory()
		quiet, err := b.rig.Measure(ctx, load)
		if err != nil {
			return err
		}
		made, end := sessions(ctx, rig.Host(name))
		busy, err := b.rig.Measure(ctx, load)
		end()
		if err != nil {
			return err
		}
		if made() == 0 || quiet.Failed+busy.Failed > 0 {
			return fmt.Errorf("%d TLS sessions were made, %d and %d requests failed", made(), quiet.Failed, busy.Failed)
		}
		what := fmt.Sprintf("%d threads: ", n)
		b.report.Figure(what+"HAProxy memory, idle", report.Megabytes(idle), "MB", "resident")
		b.report.Figure(what+"p50 in quiet", report.Milliseconds(quiet.P50), "ms", "")
		b.report.Figure(what+"p50 with costly handshakes", report.Milliseconds(busy.P50), "ms", fmt.Sprintf("%.0f new sessions/s, RSA %d", float64(made())/load.For.Seconds(), longestKey))
		b.report.Figure(what+"p99 with costly handshakes", report.Milliseconds(busy.P99), "ms", "")
	}
	return nil
}

// slowKey creates a route whose certificate has the longest key.
func (b *bench) slowKey(ctx context.Context, name string) error {
	key, err := rsa.GenerateKey(rand.Reader, longestKey)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	cert, err := b.rig.CA.Certify(rig.Host(name), &key.PublicKey)
	if err != nil {
		return err
	}
	route := rig.Route(name)
	route.Spec.TLS = &routev1.TLSConfig{
		Termination: routev1.TLSTerminationEdge, Certificate: cert,
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
	return errors.Join(b.rig.CreateService(ctx, name, rig.Address(0)), b.rig.Create(ctx, route))
}

// sessions makes new TLS sessions until end; made counts them.
func sessions(ctx context.Context, host string) (made func() int64, end func()) {
	ctx, stop := context.WithCancel(ctx)
	var count atomic.Int64
	var running sync.WaitGroup
	session := func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		d := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}}
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(rig.HTTPSPort)))
		if err == nil {
			count.Add(1)
			_ = c.Close()
		}
	}
	running.Go(func() {
		tick := time.NewTicker(time.Second / sessionsPerSecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				running.Go(session)
			}
		}
	})
	return count.Load, func() { stop(); running.Wait() }
}
