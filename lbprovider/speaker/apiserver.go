package speaker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

const (
	// checkPause is how often the API server is asked whether it is there.
	checkPause = 2 * time.Second
	// checkRetry is the pause after a failure, and checkTimeout bounds a request.
	checkRetry   = 500 * time.Millisecond
	checkTimeout = 1500 * time.Millisecond
	// checkFailures in a row mean that the API server cannot be reached.
	checkFailures = 3
	// checkWell is how long it must have been there again before the watches,
	// which may have broken, are believed to be up to date.
	checkWell = 10 * time.Second
)

// WatchAPIServer asks the API server every two seconds for /livez, and calls
// report after each answer or failure. A watch alone is no proof: where packets
// vanish, it looks as if nothing happened. It returns an error if config cannot
// be used, and otherwise when ctx ends.
func WatchAPIServer(ctx context.Context, config *rest.Config, report func(liveness.APIReach), log *slog.Logger) error {
	// Connections of its own, which are closed after a failure: a new one shows
	// sooner that the API server is back.
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: checkTimeout}).DialContext)
	own := rest.CopyConfig(config)
	own.Dial, own.Timeout = dialer.DialContext, checkTimeout
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	url := strings.TrimSuffix(own.Host, "/") + "/livez"
	if !strings.Contains(own.Host, "://") {
		url = "https://" + url
	}
	c := apiCheck{log: log}
	for pause := checkPause; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		err := ask(ctx, client, url)
		pause = checkPause
		if err != nil && ctx.Err() == nil {
			dialer.CloseAll()
			pause = checkRetry
		}
		report(c.note(err, time.Now()))
	}
}

// ask returns an error unless something answers, whatever it says.
func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	_ = answer.Body.Close()
	return nil
}

// apiCheck is what is known from one request to the next.
type apiCheck struct {
	log      *slog.Logger
	failures int
	lost     bool
	well     time.Time // since when it answers
}

// note takes the result of a request, and returns what is to be reported.
func (c *apiCheck) note(err error, now time.Time) liveness.APIReach {
	if err != nil {
		c.failures, c.well = c.failures+1, time.Time{}
		if c.failures >= checkFailures && !c.lost {
			c.lost = true
			c.log.Error("the API server cannot be reached; going on with what is known", "err", err)
		}
		return liveness.APIReach{APILost: c.lost, APISilent: true}
	}
	c.failures = 0
	if c.well.IsZero() {
		c.well = now
	}
	if c.lost && now.Sub(c.well) >= checkWell {
		c.lost = false
		c.log.Info("the API server can be reached again")
	}
	return liveness.APIReach{APILost: c.lost, APISteady: !c.lost && now.Sub(c.well) >= liveness.SteadyTime}
}
