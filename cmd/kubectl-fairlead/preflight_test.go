package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/preflight"
)

// TestPreflightWithoutRights: what could not be read is neither good nor bad, in all forms.
func TestPreflightWithoutRights(t *testing.T) {
	t.Parallel()
	for form, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) },
	} {
		var out, errs bytes.Buffer
		c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
		if code := c.run(t.Context(), []string{"preflight", "--kubeconfig", closedServer(t), "-o", form}); code != exitUsage {
			t.Errorf("%s: exit code %d: %s", form, code, errs.String())
		}
		var r preflight.Report
		if err := decode(out.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v: %s", form, err, out.String())
		}
		if r.Schema != preflight.Schema || r.Verdict != preflight.Unclear || !r.Partial || len(r.Notes) < 10 {
			t.Errorf("%s: %+v", form, r)
		}
		if r.Count(check.Fail)+r.Count(check.Warn) > 0 {
			t.Errorf("%s: something was judged that was not read: %+v", form, r.Checks)
		}
	}
	var out bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: &out, now: testNow}
	if code := c.run(t.Context(), []string{"preflight", "--kubeconfig", closedServer(t)}); code != exitUsage || !strings.HasPrefix(out.String(), "UNKNOWN: too much could not be read") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}

// TestPreflightUsage: wrong arguments, and a cluster that does not answer, are errors and no verdict.
func TestPreflightUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"preflight reads a cluster": {"-f", "x.yaml"},
		"one argument too many":     {"now"},
		"use one of: text, json, ":  {"-o", "name"},
		"ask cluster":               {"--kubeconfig", kubeconfigFor(t, "http://127.0.0.1:1")},
	} {
		var out, errs bytes.Buffer
		c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
		if code := c.run(t.Context(), append([]string{"preflight"}, args...)); code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}
