package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go returns its types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"

	"github.com/fairlead/fairlead/lbprovider/inspect"
)

const (
	// debugPort is where a speaker serves its debug page, on the node's loopback.
	debugPort = 17472
	// askTime bounds what one speaker may take.
	askTime = 5 * time.Second
	// protocol is that of port forwarding.
	protocol = "portforward.k8s.io"
)

// askSpeaker reads a speaker's debug page by port forwarding: it is on the
// node's loopback, where no other host reaches it.
func askSpeaker(ctx context.Context, config *rest.Config, pod *corev1.Pod) ([]inspect.Row, error) {
	type result struct {
		rows []inspect.Row
		err  error
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := forward(config, pod)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	done := make(chan result, 1)
	go func() {
		rows, err := fetch(ctx, conn)
		done <- result{rows, err}
	}()
	select {
	case r := <-done:
		return r.rows, r.err
	case <-ctx.Done():
		return nil, errors.New("no answer in time")
	}
}

// forward opens a connection to the kubelet through the API server.
func forward(config *rest.Config, pod *corev1.Pod) (httpstream.Connection, error) {
	own := rest.CopyConfig(config)
	own.Timeout = askTime
	transport, upgrader, err := spdy.RoundTripperFor(own)
	if err != nil {
		return nil, fmt.Errorf("prepare port forwarding: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(own)
	if err != nil {
		return nil, fmt.Errorf("prepare port forwarding: %w", err)
	}
	url := base.JoinPath("api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward")
	conn, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url).Dial(protocol)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	return conn, nil
}

// fetch asks over a forwarded connection.
func fetch(ctx context.Context, conn httpstream.Connection) ([]inspect.Row, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(debugPort))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failed, err := conn.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	_ = failed.Close() // this side says nothing on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/debug/l2", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the speaker: %w", err)
	}
	req.Close = true
	if err := req.Write(data); err != nil {
		return nil, fmt.Errorf("ask the speaker: %w", err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(data), req)
	if err != nil {
		if why, _ := io.ReadAll(io.LimitReader(failed, 300)); len(why) > 0 {
			err = errors.New(strings.TrimSpace(string(why)))
		}
		return nil, fmt.Errorf("ask the speaker: %w", err)
	}
	defer answer.Body.Close()
	var rows []inspect.Row
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the speaker: %s", answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(&rows); err != nil {
		return nil, fmt.Errorf("read what the speaker says: %w", err)
	}
	return rows, nil
}
