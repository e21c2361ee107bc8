// Package cluster reads streams of requests of a router's replicas through the API server.
package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/routerpods"
)

// lineBytes bounds a line of a stream.
const lineBytes = 256 << 10

// Event is a line of a router's stream, or why it has ended.
type Event struct {
	Router string
	Line   observe.Line
	Err    error
}

// Source reads the replicas of one router.
type Source struct{ replicas *routerpods.Replicas }

// New returns a source of the replicas of the IngressController of that name.
func New(config *rest.Config, router string) (*Source, error) {
	replicas, err := routerpods.New(config, router, routerpods.Account{
		Name: api.LogReaderServiceAccount, What: "their requests",
		Grant: "kubectl create rolebinding fairlead-log-reader-USER --clusterrole fairlead-log-reader --user USER -n " + api.OperandNamespace,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	return &Source{replicas}, nil
}

// Follow reads all replicas that are ready until the context ends, and closes events when
// all streams have ended. It returns the names of the replicas.
func (s *Source) Follow(ctx context.Context, filter *observe.Filter, events chan<- Event) ([]string, error) {
	pods, err := s.replicas.Ready(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	if _, err := s.replicas.Authorize(ctx); err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	var wait sync.WaitGroup
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
		wait.Go(func() {
			if err := s.follow(ctx, pod, filter, events); ctx.Err() == nil {
				send(ctx, events, Event{Router: pod.Name, Err: err})
			}
		})
	}
	go func() {
		wait.Wait()
		close(events)
	}()
	return names, nil
}

func send(ctx context.Context, events chan<- Event, e Event) {
	select {
	case events <- e:
	case <-ctx.Done():
	}
}

func (s *Source) follow(ctx context.Context, pod *corev1.Pod, filter *observe.Filter, events chan<- Event) error {
	body, err := s.replicas.Get(ctx, pod, observe.Path+"?"+filter.Query().Encode())
	if err != nil {
		return err //nolint:wrapcheck // it says what
	}
	defer body.Close()
	// A forwarded connection does not end with the context by itself.
	stop := context.AfterFunc(ctx, func() { _ = body.Close() })
	defer stop()
	return Lines(body, func(line observe.Line) { send(ctx, events, Event{Router: pod.Name, Line: line}) })
}

// Lines reads a stream to its end, which is an error.
func Lines(stream io.Reader, each func(observe.Line)) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), lineBytes)
	for lines.Scan() {
		var l observe.Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("read its requests: %w", err)
		}
		each(l)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read its requests: %w", err)
	}
	return errors.New("it has ended the stream")
}
