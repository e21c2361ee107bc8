package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/check"
)

// closedServer is an API server that refuses everything but its version.
func closedServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion": "v1.36.3"}`))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no\u001b[2J"}`))
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL)
}

// TestStatusWithoutRights: what could not be read is neither healthy nor missing.
func TestStatusWithoutRights(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
	if code := c.run(t.Context(), []string{"status", "--kubeconfig", closedServer(t), "-o", "json"}); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	var r check.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if r.Schema != "fairlead.dev/status/v1" || r.Verdict != check.Unclear || !r.Partial || len(r.Notes) < 20 {
		t.Errorf("%+v", r)
	}
	if r.Count(check.Fail)+r.Count(check.Warn) > 0 {
		t.Errorf("something was judged that was not read: %+v", r.Checks)
	}
	out.Reset()
	c = &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
	code := c.run(t.Context(), []string{"status", "--kubeconfig", closedServer(t), "--probe", "none", "--wait=1ms"})
	if text := out.String(); code != exitUsage || !strings.HasPrefix(text, "UNKNOWN: too much could not be read") || strings.Contains(text, "\x1b") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// TestStatusWatch: what is written is what has another state, and the exit code is that of the
// last look.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &command{out: &out, err: &out, screen: &out, now: testNow}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := []func() (*check.Report, error){
		func() (*check.Report, error) { return nil, errors.New("no \x1b[1mroute to host") },
		func() (*check.Report, error) {
			return &check.Report{Verdict: check.Unhealthy, Checks: []check.Check{{ID: "FL201", State: check.Fail, Summary: "first"}}}, nil
		},
		func() (*check.Report, error) {
			return &check.Report{Verdict: check.Unhealthy, Checks: []check.Check{{ID: "FL201", State: check.Fail, Summary: "second"}}}, nil
		},
		func() (*check.Report, error) {
			return &check.Report{Verdict: check.Healthy, Checks: []check.Check{{ID: "FL201", State: check.OK, Summary: "third"}}}, nil
		},
	}
	err := c.watchStatus(ctx, &statusFlags{failOn: "failure"}, time.Microsecond, func(context.Context) (*check.Report, error) {
		if len(looks) == 0 {
			cancel()
			return nil, ctx.Err()
		}
		look := looks[0]
		looks = looks[1:]
		return look()
	})
	text := out.String()
	for _, want := range []string{"route to host", "first", "\nHEALTHY"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if err != nil || c.code != exitGood || strings.Contains(text, "second") || strings.Contains(text, "\x1b") {
		t.Errorf("%v, exit code %d:\n%s", err, c.code, text)
	}
}

// TestStatusWithoutCluster: no answer is an error, and not a verdict.
func TestStatusWithoutCluster(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
	code := c.run(t.Context(), []string{"status", "--kubeconfig", kubeconfigFor(t, "http://127.0.0.1:1")})
	if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "ask cluster") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

// TestTerminal: colours are for terminals, and other characters for those that have them.
func TestTerminal(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for name, tt := range map[string]struct {
		env  func(string) string
		want bool
	}{
		"nothing":   {env(), false},
		"LANG":      {env("LANG", "de_DE.UTF-8"), true},
		"C":         {env("LANG", "de_DE.UTF-8", "LC_ALL", "C"), false},
		"LC_CTYPE":  {env("LC_CTYPE", "C.utf8"), true},
		"ISO-8859":  {env("LANG", "de_DE.ISO-8859-1"), false},
		"empty one": {env("LC_ALL", "", "LANG", "C.UTF-8"), true},
	} {
		if got := utf8Locale(tt.env); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	device, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	switch {
	case !colored(device, env("TERM", "xterm")):
		t.Error("a device is not colored")
	case colored(device, env("TERM", "xterm", "NO_COLOR", "1")), colored(device, env("TERM", "dumb")), colored(device, env()):
		t.Error("it is colored, and should not be")
	case colored(file, env("TERM", "xterm")), colored(new(bytes.Buffer), env("TERM", "xterm")):
		t.Error("a file is colored")
	}
}
