package rig

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// Profile writes a CPU profile of the router over so long to a file. A router that has just
// been started may not answer at once.
func (o *Router) Profile(ctx context.Context, path string, lasting time.Duration) error {
	return o.debug(ctx, fmt.Sprintf("profile?seconds=%d", int(lasting.Seconds())), path)
}

// ProfileWhile runs a phase while the router profiles itself for so long, into the files
// PREFIX-name.pprof, and PREFIX-name.allocs for what it allocates meanwhile. With an empty prefix there is no profile.
func (o *Router) ProfileWhile(ctx context.Context, prefix, name string, lasting time.Duration, phase func() error) error {
	if prefix == "" {
		return phase()
	}
	var profiles errgroup.Group
	profiles.Go(func() error { return o.Profile(ctx, prefix+"-"+name+".pprof", lasting) })
	profiles.Go(func() error {
		return o.debug(ctx, fmt.Sprintf("allocs?seconds=%d", int(lasting.Seconds())), prefix+"-"+name+".allocs")
	})
	if err := phase(); err != nil {
		return err
	}
	return profiles.Wait() //nolint:wrapcheck // they say what they are
}

// Heap writes what the router holds in memory to a file.
func (o *Router) Heap(ctx context.Context, path string) error {
	return o.debug(ctx, "heap?gc=1", path)
}

func (o *Router) debug(ctx context.Context, what, path string) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", o.ports.Stats, what)
	var response *http.Response
	err := Until(10*time.Second, "an answer for the profile", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err = http.DefaultClient.Do(request)
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	defer response.Body.Close()
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	_, err = io.Copy(file, response.Body)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	return nil
}
