package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// trial is what is checked, one thing after the other.
type trial struct {
	program, haproxy, manifests, work string
	say                               func(format string, args ...any)
	served                            *served
	// http is the address of the HTTP listener, by which printed URLs end.
	weighted, hello, metrics string
}

// kill ends what a failure left running.
func (t *trial) kill() {
	if t.served != nil {
		_ = t.served.stop()
	}
}

// logged returns the end of what was logged, to be shown with a failure.
func (t *trial) logged() string {
	if t.served == nil {
		return ""
	}
	text, err := os.ReadFile(t.served.log)
	if err != nil {
		return err.Error()
	}
	const most = 4000
	return string(text[max(0, len(text)-most):])
}

type check struct {
	name string
	run  func(context.Context) error
}

// checks are those of the trial, in order.
func (t *trial) checks() []check {
	return []check{
		{"start", t.start},
		{"printed URLs", t.urls},
		{"edit a manifest", t.edit},
		{"add a manifest", t.add},
		{"break a manifest", t.breakFile},
		{"an object twice", t.duplicate},
		{"remove a manifest", t.remove},
		{"no reload", t.reloads},
		{"Ctrl-C", t.stop},
		{"a kill", t.killed},
		{"exit codes", t.exitCodes},
	}
}

func (t *trial) start(ctx context.Context) (err error) {
	began := time.Now()
	if t.served, err = startServe(ctx, t.program, t.haproxy, t.manifests, t.work); err == nil {
		t.say("ok    fairlead serves the manifests %.1fs after its start", time.Since(began).Seconds())
	}
	return err
}

func (t *trial) urls(ctx context.Context) error {
	commands := t.served.curls()
	if len(commands) < 5 {
		return fmt.Errorf("printed %d curl commands, want 5 at least", len(commands))
	}
	for _, args := range commands {
		status, body, err := ask(ctx, args)
		if err != nil {
			return err
		}
		url := args[len(args)-1]
		if status != 200 || !strings.HasPrefix(body, "hello from pod ") {
			return fmt.Errorf("%s answers %d %q", url, status, body)
		}
		t.say("ok    curl %s → %s", strings.Join(args, " "), strings.SplitN(body, "\n", 2)[0])
		switch {
		case strings.Contains(url, "//weighted."):
			t.weighted = url
		case strings.Contains(url, "//hello."):
			t.hello = url
		}
	}
	for _, l := range t.served.lines() {
		for word := range strings.FieldsSeq(l) {
			if strings.HasSuffix(word, "/metrics") {
				t.metrics = word
			}
		}
	}
	if t.weighted == "" || t.hello == "" || t.metrics == "" {
		return errors.New("the URLs of weighted, hello and of metrics are not printed")
	}
	return nil
}

// live is what a change may take until it is served; the machine may be busy.
const live = time.Second

func (t *trial) edit(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(t.served.folder, "weighted.yaml"))
	if err != nil {
		return err
	}
	if err := t.served.write("weighted.yaml", strings.Replace(string(text), "weight: 75", "weight: 0", 1)); err != nil {
		return err
	}
	const row = 8 // with the former weights, one in 65,536 such rows is all green
	green := 0
	took, err := until(ctx, t.weighted, func(_ int, body string) bool {
		if green++; !strings.Contains(body, "green-1") {
			green = 0
		}
		return green == row
	})
	switch {
	case err != nil:
		return err
	case took > live:
		return fmt.Errorf("the change was live after %s, want at most %s", took, live)
	}
	t.say("ok    weighted.yaml changed: all requests go to green %d ms after it was saved", took.Milliseconds())
	return t.served.waitFor("~ route demo/weighted")
}

const newRoute = `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: new, namespace: demo}
spec: {host: new.apps.localhost, to: {kind: Service, name: hello}}
`

func (t *trial) add(ctx context.Context) error {
	if err := t.served.write("new.yaml", newRoute); err != nil {
		return err
	}
	took, err := until(ctx, strings.Replace(t.hello, "//hello.", "//new.", 1), func(status int, _ string) bool { return status == 200 })
	switch {
	case err != nil:
		return err
	case took > live:
		return fmt.Errorf("the Route was served after %s, want at most %s", took, live)
	}
	t.say("ok    new.yaml: its Route is served %d ms after it was saved", took.Milliseconds())
	return t.served.waitFor("+ route demo/new")
}

func (t *trial) breakFile(ctx context.Context) error {
	if err := t.served.write("new.yaml", newRoute+"  port: [\n"); err != nil {
		return err
	}
	if err := t.served.waitFor("new.yaml:4:1: "); err != nil {
		return err
	}
	if err := t.served.waitFor("1 object keeps its last good version"); err != nil {
		return err
	}
	if _, err := until(ctx, strings.Replace(t.hello, "//hello.", "//new.", 1), func(status int, _ string) bool { return status == 200 }); err != nil {
		return err
	}
	t.say("ok    new.yaml broken: the place is printed, and its Route is served as before")
	return t.served.write("new.yaml", newRoute)
}

func (t *trial) duplicate(ctx context.Context) error {
	if err := t.served.write("zz.yaml", strings.Replace(newRoute, "name: hello", "name: green", 1)); err != nil {
		return err
	}
	if err := t.served.waitFor("DuplicateObject"); err != nil {
		return err
	}
	_, body, err := ask(ctx, []string{strings.Replace(t.hello, "//hello.", "//new.", 1)})
	if err == nil && !strings.HasPrefix(body, "hello from pod hello-") {
		err = fmt.Errorf("the second file counts: %q", body)
	}
	if err == nil {
		t.say("ok    a Route in two files: the first file counts, and both places are printed")
	}
	return err
}

func (t *trial) remove(ctx context.Context) error {
	for _, name := range []string{"zz.yaml", "new.yaml"} {
		if err := os.Remove(filepath.Join(t.served.folder, name)); err != nil {
			return err
		}
	}
	took, err := until(ctx, strings.Replace(t.hello, "//hello.", "//new.", 1), func(status int, _ string) bool { return status == 404 || status == 503 })
	if err != nil {
		return err
	}
	t.say("ok    new.yaml removed: its Route is gone %d ms later", took.Milliseconds())
	return t.served.waitFor("- route demo/new")
}

func (t *trial) reloads(ctx context.Context) error {
	_, text, err := ask(ctx, []string{t.metrics})
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "fairlead_router_reloads_total{") {
			return fmt.Errorf("HAProxy was reloaded: %s", strings.TrimSpace(line))
		}
	}
	if !strings.Contains(text, "fairlead_router_plan_duration") && !strings.Contains(text, "fairlead_router_plan_duration_seconds") {
		return errors.New("the metrics do not have those of the router")
	}
	t.say("ok    HAProxy was not reloaded")
	return nil
}

func (t *trial) stop(context.Context) error {
	began := time.Now()
	if err := t.served.stop(); err != nil {
		return err
	}
	t.say("ok    ended %d ms after Ctrl-C", time.Since(began).Milliseconds())
	return nil
}

// killed: HAProxy does not outlive a program that is killed, and the next one starts.
func (t *trial) killed(ctx context.Context) error {
	again, err := startServe(ctx, t.program, t.haproxy, t.manifests, t.work)
	if err != nil {
		return err
	}
	commands := again.curls()
	if len(commands) == 0 {
		return fmt.Errorf("printed no curl command: %s", strings.Join(again.lines(), "\n"))
	}
	_ = again.cmd.Process.Kill()
	if err := <-again.ended; err == nil {
		return errors.New("fairlead ended with 0, though it was killed")
	}
	again.stopped = true
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		_, _, err := ask(ctx, commands[0])
		if err != nil {
			t.say("ok    killed: HAProxy ends as well")
			return nil
		}
		if time.Now().After(end) {
			return errors.New("HAProxy outlives a program that was killed")
		}
	}
}

func (t *trial) exitCodes(ctx context.Context) error {
	bad := filepath.Join(t.work, "bad.yaml")
	if err := os.WriteFile(bad, []byte(newRoute+"  portt: {}\n"), 0o644); err != nil {
		return err
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"-f", t.served.folder, "--check"}},
		{1, []string{"-f", bad, "--check"}},
		{2, []string{"-f", filepath.Join(t.work, "missing")}},
		{2, nil},
		{2, []string{"-f", t.served.folder, "--watch", "never"}},
		{3, []string{"-f", t.served.folder, "--haproxy", filepath.Join(t.work, "missing")}},
		{0, []string{"-f", t.served.folder, "--exit-after", "300ms", "--http", "0", "--https", "auto", "--admin", "0"}},
	} {
		args := append([]string{"serve", "--work-dir", filepath.Join(t.work, "w"), "--haproxy", t.haproxy}, c.args...)
		out, err := exec.CommandContext(ctx, t.program, args...).CombinedOutput()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		} else if err != nil {
			return err
		}
		if code != c.code {
			return fmt.Errorf("fairlead serve %s ends with %d, want %d: %s", strings.Join(c.args, " "), code, c.code, out)
		}
	}
	t.say("ok    exit codes 0, 1, 2 and 3")
	return nil
}
