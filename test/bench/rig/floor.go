package rig

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// floorPort is that of the HAProxy of Floor.
const floorPort = 8190

// lists are the large ones that a router's start asks for, and in which form.
var lists = []struct{ path, accept string }{
	{"/apis/route.openshift.io/v1/routes", runtime.ContentTypeJSON},
	{"/api/v1/services", runtime.ContentTypeProtobuf},
	{"/apis/discovery.k8s.io/v1/endpointslices", runtime.ContentTypeProtobuf},
}

// Floor returns how long a start takes without any router: the lists that it needs, asked for
// at once and thrown away, and then HAProxy's start from a file by hand with as many backends.
func (r *Rig) Floor(ctx context.Context, routes int) (listing, starting time.Duration, err error) {
	config, err := r.Config()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range lists {
		g.Go(func() error {
			c, err := rest.HTTPClientFor(config) // with a connection of its own
			if err != nil {
				return err
			}
			return discard(ctx, c, config.Host+l.path, l.accept)
		})
	}
	if err := g.Wait(); err != nil {
		return 0, 0, fmt.Errorf("list without a router: %w", err)
	}
	listed := time.Now()
	h, err := r.StartHandwritten(floorPort, "fill", routes, 1000)
	if err != nil {
		return 0, 0, err
	}
	defer h.Stop()
	return listed.Sub(began), time.Since(listed), nil
}

// discard asks for something and throws it away.
func discard(ctx context.Context, c *http.Client, url, accept string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	answer, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
