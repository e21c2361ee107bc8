package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/routerpods"
)

// ErrOlder means that a router does not know the page that it was asked for.
var ErrOlder = errors.New("it is older than this program, and keeps no requests")

// keptBytes bounds the answer of a router: so many records of the longest paths.
const keptBytes = 1 << 20

// Answer is what one router has of an ID, or why it does not say.
type Answer struct {
	Router string
	Kept   observe.Kept
	Err    error
}

// Find asks all replicas that are ready for the requests of an ID. The answers are in the order of the replicas' names.
func (s *Source) Find(ctx context.Context, id string) ([]Answer, error) {
	pods, err := s.replicas.Ready(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	if _, err := s.replicas.Authorize(ctx); err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	answers := make([]Answer, len(pods))
	var wait sync.WaitGroup
	for i, pod := range pods {
		wait.Go(func() {
			kept, err := s.find(ctx, pod, id)
			answers[i] = Answer{Router: pod.Name, Kept: kept, Err: err}
		})
	}
	wait.Wait()
	slices.SortFunc(answers, func(a, b Answer) int { return cmp.Compare(a.Router, b.Router) })
	return answers, nil
}

func (s *Source) find(ctx context.Context, pod *corev1.Pod, id string) (observe.Kept, error) {
	body, err := s.replicas.Get(ctx, pod, observe.KeptPath+url.PathEscape(id))
	if err != nil {
		return observe.Kept{}, older(err)
	}
	defer body.Close()
	stop := context.AfterFunc(ctx, func() { _ = body.Close() })
	defer stop()
	return ReadKept(body)
}

// older is ErrOlder for the answer of a router without that page: it hands all that it does not know on to
// HAProxy's statistics page, which asks for another right.
func older(err error) error {
	var status *routerpods.StatusError
	if errors.As(err, &status) && (status.Code == http.StatusNotFound || status.Code == http.StatusForbidden && strings.Contains(status.Why, "routers/metrics")) {
		return ErrOlder
	}
	return err
}

// ReadKept reads the answer of a router.
func ReadKept(body io.Reader) (observe.Kept, error) {
	var k observe.Kept
	text, err := io.ReadAll(io.LimitReader(body, keptBytes))
	if err != nil {
		return k, err //nolint:wrapcheck // the caller says which router it is
	}
	if err := json.Unmarshal(text, &k); err != nil || k.Schema != observe.SchemaKept {
		return observe.Kept{}, ErrOlder
	}
	return k, nil
}
