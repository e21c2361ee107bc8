package canary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// onceEvery is the time between two attempts of Once.
const onceEvery = 2 * time.Second

// strange is a host that no Route can have.
const strange = "fairlead.invalid"

// Once asks the routers at an address, which is that of a Service, until the answer is right or the context
// ends: for the canary's host, or with an empty host for one that no Route has, which a router answers
// with 503. The error says what was wrong last.
func Once(ctx context.Context, address, host string) error {
	return once(ctx, new(net.Dialer).DialContext, address, host)
}

func once(ctx context.Context, dial dialer, address, host string) error {
	tick := time.NewTicker(onceEvery)
	defer tick.Stop()
	var last error
	for {
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		err := attempt(limited, dial, address, host)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil { // an attempt that was cut off says less than the one before
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("ask the routers at %s: %w", address, last)
		}
	}
}

// attempt asks once. The Route may lead to either port.
func attempt(ctx context.Context, dial dialer, address, host string) error {
	if host == "" {
		return unknownHost(ctx, dial, address)
	}
	err := probe(ctx, dial, Target{Host: host, Port: 443, Backend: Port1}, address)
	if errors.Is(err, errWrongPort) {
		return probe(ctx, dial, Target{Host: host, Port: 443, Backend: Port2}, address)
	}
	return err
}

// unknownHost asks for a host that no Route has.
func unknownHost(ctx context.Context, dial dialer, address string) error {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, net.JoinHostPort(address, "80"))
		},
		DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeader,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strange+"/", http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return plain(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mostBody)) // only the status counts
	if response.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("status code %d for a host that no Route has, expected 503: something else answers", response.StatusCode)
	}
	return nil
}
