// Package cluster reads the metrics pages of a router's replicas through the API server.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/routerpods"
	"github.com/fairlead/fairlead/router/traffic/top"
)

const (
	// readTime bounds one page of one replica.
	readTime = 15 * time.Second
	// pageBytes bounds a page: 25,000 series are 3 MB.
	pageBytes = 128 << 20
)

// Source reads the replicas of one router.
type Source struct{ replicas *routerpods.Replicas }

// New returns a source of the replicas of the IngressController of that name.
func New(config *rest.Config, router string) (*Source, error) {
	replicas, err := routerpods.New(config, router, routerpods.Account{
		Name: api.ViewerServiceAccount, What: "their metrics", Password: true,
		Grant: "kubectl create rolebinding fairlead-viewer-USER --role fairlead-viewer --user USER -n " + api.OperandNamespace,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	return &Source{replicas}, nil
}

// Read asks all replicas that are ready, at once. The readings are by pod; unread says why
// others are not among them. It fails where none could be asked.
func (s *Source) Read(ctx context.Context) (readings map[string]*top.Reading, unread []string, err error) {
	pods, err := s.replicas.Ready(ctx)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what
	}
	if _, err := s.replicas.Authorize(ctx); err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	readings = map[string]*top.Reading{}
	for _, pod := range pods {
		wait.Go(func() {
			r, err := s.page(ctx, pod)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unread = append(unread, pod.Name+": "+err.Error())
				return
			}
			readings[pod.Name] = r
		})
	}
	wait.Wait()
	slices.Sort(unread)
	if len(readings) == 0 {
		return nil, nil, errors.New("no replica could be asked: " + unread[0])
	}
	return readings, unread, nil
}

// page reads the page of one replica.
func (s *Source) page(ctx context.Context, pod *corev1.Pod) (*top.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	page, err := s.replicas.Get(ctx, pod, "/metrics")
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	defer page.Close()
	// The counters are as of when the page is there.
	body, err := io.ReadAll(io.LimitReader(page, pageBytes))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return top.Parse(bytes.NewReader(body), time.Now()) //nolint:wrapcheck // it says what
}
