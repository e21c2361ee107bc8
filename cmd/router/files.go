package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

// mountedFiles are texts that the IngressController names in ConfigMaps, which
// the operator mounts: spec.clientTLS.clientCA and spec.httpErrorCodePages.
type mountedFiles struct {
	clientCA, clientCRL           string
	pageUnavailable, pageNotFound string
	destinationCA                 string
}

// mountPoll is how often mounted files are looked at. ConfigMaps in pods
// change by a symlink swap, which every way of watching sees late or not at
// all, save this.
const mountPoll = 2 * time.Second

// read returns the files as they are. One that cannot be read is empty, which
// for client certificates means that no client gets in.
func (c *config) read(log *slog.Logger) mountedFiles {
	text := func(dir, name string) string {
		if dir == "" {
			return ""
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			log.Error("cannot read a mounted file", "err", err)
		}
		return string(b)
	}
	return mountedFiles{
		clientCA: text(c.clientCA, "ca-bundle.pem"), clientCRL: text(c.clientCA, "crls.pem"),
		pageUnavailable: text(c.errorPages, "error-page-503.http"), pageNotFound: text(c.errorPages, "error-page-404.http"),
		destinationCA: text(c.destinationCA, "service-ca.crt"),
	}
}

const (
	// acceptedSpec is the file, among those for the next process in the same pod,
	// with the spec that a router used last. It may be newer than what the operator
	// wrote down, which may be away, and than what kubelet has mounted.
	acceptedSpec = "accepted-spec.json"
	// maxSpec is far above what an object may have.
	maxSpec = 4 << 20
)

// accepted writes down a spec that is used from now on.
func (c *config) accepted(state *statefile.Store, spec *operatorv1.IngressControllerSpec) {
	b, err := json.Marshal(spec)
	if err == nil {
		err = state.Write(acceptedSpec, b)
	}
	if err != nil {
		state.Log.Error("cannot keep the settings for the next start", "err", err)
	}
}

// admitted returns the spec to use beside one that is refused, or nil: what a
// router of this pod used last, else what the operator admitted last, as it
// stands in the ConfigMap that it keeps for that.
func (c *config) admitted(state *statefile.Store) *operatorv1.IngressControllerSpec {
	spec := &operatorv1.IngressControllerSpec{}
	if state.Read(acceptedSpec, maxSpec, func(b []byte) (err error) {
		if spec, err = parseSpec(b); err != nil {
			return err
		}
		if found := settings.Refusal(&operatorv1.IngressController{Spec: *spec}); len(found) > 0 {
			return fmt.Errorf("settings that no router admits: %s", found[0].Text())
		}
		return nil
	}) {
		return spec
	}
	if c.admittedSettings == "" {
		return nil
	}
	path := filepath.Join(c.admittedSettings, api.AdmittedSpecKey)
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		spec, err = parseSpec(b)
	}
	if err != nil {
		state.Log.Error("cannot read the settings that were admitted last", "file", path, "err", err)
		return nil
	}
	return spec
}

// parseSpec reads a spec that may have fields of another version.
func parseSpec(b []byte) (*operatorv1.IngressControllerSpec, error) {
	spec := &operatorv1.IngressControllerSpec{}
	if err := json.Unmarshal(b, spec); err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return spec, nil
}

// watchFiles calls changed after a mounted file has changed.
func watchFiles(ctx context.Context, c *config, log *slog.Logger, changed func()) {
	if c.clientCA == "" && c.errorPages == "" && c.destinationCA == "" {
		return
	}
	last := c.read(log)
	tick := time.NewTicker(mountPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := c.read(log); now != last {
			last = now
			log.Info("mounted files changed")
			changed()
		}
	}
}
