package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
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
// for client certificates means that nobody gets in.
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

// acceptedSpec is the file, in the folder that outlives this process in its
// pod, with the spec that a router used last. It may be newer than what the
// operator wrote down, which may be away, and than what kubelet has mounted.
const acceptedSpec = "accepted-spec.json"

// accepted writes down a spec that is used from now on.
func (c *config) accepted(spec *operatorv1.IngressControllerSpec, log *slog.Logger) {
	path := filepath.Join(c.workDir, acceptedSpec)
	b, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		log.Error("cannot keep the settings for the next start", "err", err)
	}
}

// admitted returns the spec to use beside one that is refused, or nil: what a
// router of this pod used last, else what the operator admitted last, as it
// stands in the ConfigMap that it keeps for that.
func (c *config) admitted(log *slog.Logger) *operatorv1.IngressControllerSpec {
	paths := []string{filepath.Join(c.workDir, acceptedSpec)}
	if c.admittedSettings != "" {
		paths = append(paths, filepath.Join(c.admittedSettings, api.AdmittedSpecKey))
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		spec := &operatorv1.IngressControllerSpec{}
		if err == nil {
			err = json.Unmarshal(b, spec)
		}
		if err == nil {
			return spec
		}
		log.Error("cannot read the settings that were admitted last", "file", path, "err", err)
	}
	return nil
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
