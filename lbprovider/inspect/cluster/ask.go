package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/router/podport"
)

const (
	// debugPort is where a speaker serves its debug page, on the node's loopback.
	debugPort = 17472
	// askTime bounds what one speaker may take.
	askTime = 5 * time.Second
)

// askSpeaker reads a speaker's debug page by port forwarding: it is on the
// node's loopback, where no other host reaches it.
func askSpeaker(ctx context.Context, config *rest.Config, pod *corev1.Pod) ([]inspect.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := podport.Dial(ctx, config, pod.Namespace, pod.Name, debugPort)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	rows, err := fetch(ctx, conn)
	if ctx.Err() != nil {
		return nil, errors.New("no answer in time")
	}
	return rows, err
}

// fetch asks over a forwarded connection.
func fetch(ctx context.Context, conn *podport.Conn) ([]inspect.Row, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/debug/l2", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the speaker: %w", err)
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("ask the speaker: %w", err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
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
