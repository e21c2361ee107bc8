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
			c := &config{admittedSettings: t.TempDir(), workDir: t.TempDir()}
			if test.file != "" {
				if err := os.WriteFile(filepath.Join(c.admittedSettings, api.AdmittedSpecKey), []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			domain := "-"
			if spec := c.admitted(slog.New(slog.NewTextHandler(&log, nil))); spec != nil {
				domain = spec.Domain
			}
			if domain != test.domain || strings.Contains(log.String(), "level=ERROR") != test.logged {
				t.Errorf("domain %s, want %s; log %q", domain, test.domain, log.String())
			}
		})
	}
	quiet := slog.New(slog.DiscardHandler)
	c := &config{workDir: t.TempDir()}
	if spec := c.admitted(quiet); spec != nil {
		t.Errorf("without any file: %v", spec)
	}
	for _, domain := range []string{"one.example.com", "two.example.com"} {
		c.accepted(&operatorv1.IngressControllerSpec{Domain: domain}, quiet)
		if spec := c.admitted(quiet); spec == nil || spec.Domain != domain {
			t.Errorf("read %v, want %s", spec, domain)
		}
	}
}
