package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// profiled runs a phase while the router profiles itself for so long, if
// profiles are asked for. The profile goes to PREFIX-name.pprof.
func (b *bench) profiled(ctx context.Context, name string, lasting time.Duration, phase func() error) error {
	if b.profile == "" {
		return phase()
	}
	done := make(chan error, 1)
	go func() { done <- b.takeProfile(ctx, name, lasting) }()
	if err := phase(); err != nil {
		return err
	}
	return <-done
}

func (b *bench) takeProfile(ctx context.Context, name string, lasting time.Duration) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/profile?seconds=%d", rig.StatsPort, int(lasting.Seconds()))
	var response *http.Response
	// A router that has just been started does not answer at once.
	err := rig.Until(10*time.Second, "an answer for the profile", func() (bool, error) {
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
	file, err := os.Create(b.profile + "-" + name + ".pprof")
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

// takeHeap writes what the router holds in memory to PREFIX-name.heap, if
// profiles are asked for.
func (b *bench) takeHeap(ctx context.Context, name string) error {
	if b.profile == "" {
		return nil
	}
	return b.fetch(ctx, "heap?gc=1", b.profile+"-"+name+".heap")
}

func (b *bench) fetch(ctx context.Context, what, path string) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", rig.StatsPort, what)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", what, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", what, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", what, err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("fetch %s: %w", what, err)
	}
	return nil
}
