package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/statefile"
)

// TestAdmitted: what the operator wrote down last is read, and what cannot be
// read is said and not used.
func TestAdmitted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file   string
		domain string // of the spec that is read; "-" for none
		logged bool
	}{
		"a spec":      {`{"domain":"apps.example.com","tuningOptions":{"serverTimeout":"9s"}}`, "apps.example.com", false},
		"no file":     {"", "-", false},
		"no JSON":     {"domain: x", "-", true},
		"not a spec":  {`{"replicas":"many"}`, "-", true},
		"a new field": {`{"domain":"a.example.com","comesLater":1}`, "a.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &config{admittedSettings: t.TempDir()}
			if test.file != "" {
				if err := os.WriteFile(filepath.Join(c.admittedSettings, api.AdmittedSpecKey), []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			domain := "-"
			state := &statefile.Store{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))}
			if spec := c.admitted(state); spec != nil {
				domain = spec.Domain
			}
			if domain != test.domain || strings.Contains(log.String(), "level=ERROR") != test.logged {
				t.Errorf("domain %s, want %s; log %q", domain, test.domain, log.String())
			}
		})
	}
	discarded := 0
	state := &statefile.Store{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Discarded: func(string) { discarded++ }}
	c := &config{}
	if spec := c.admitted(state); spec != nil {
		t.Errorf("without any file: %v", spec)
	}
	for _, domain := range []string{"one.example.com", "two.example.com"} {
		c.accepted(state, &operatorv1.IngressControllerSpec{Domain: domain})
		if spec := c.admitted(state); spec == nil || spec.Domain != domain {
			t.Errorf("read %v, want %s", spec, domain)
		}
	}
	contradiction := &operatorv1.IngressControllerSpec{TuningOptions: operatorv1.IngressControllerTuningOptions{HeaderBufferBytes: 16384, HeaderBufferMaxRewriteBytes: 16384}}
	if c.accepted(state, contradiction); c.admitted(state) != nil || discarded != 1 {
		t.Errorf("settings that contradict themselves were taken, %d files discarded", discarded)
	}
	if err := os.WriteFile(filepath.Join(state.Dir, acceptedSpec), []byte(`{"domain":"evil.example.com"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.admitted(state) != nil || discarded != 2 {
		t.Errorf("a file of another program was taken, %d files discarded", discarded)
	}
}
