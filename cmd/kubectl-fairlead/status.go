package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
)

const (
	// statusWait is how long --wait without a value waits.
	statusWait = "5m"
	// waitPause is between two looks, waitReport between two lines that say so.
	waitPause, waitReport = 2 * time.Second, 5 * time.Second
)

// statusFlags are those of the command itself.
type statusFlags struct {
	wait          time.Duration
	probe, failOn string
	short, watch  bool
}

func (c *command) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Is my ingress healthy? One screen",
		Long: `kubectl fairlead status says on one screen whether routers run, Routes are served, addresses are announced and
certificates are valid. Each check has a stable id with a page in docs/checks.

It reads as far as your rights go; what it could not read is reported, and counts neither as healthy nor as missing.
It asks the routers' addresses and names from this machine, unless --probe is none.

Exit code: 0 healthy, 1 something is not served or not announced (with --fail-on warning: or needs attention), 2 wrong
arguments, or too much could not be read.`,
		Example: `  kubectl fairlead status
  kubectl fairlead status --wait --probe none
  kubectl fairlead status --router internal --fail-on warning
  kubectl fairlead status -w --short
  kubectl fairlead status -o json | jq -r '.checks[] | select(.state == "fail") | .id'`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := &statusFlags{}
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "wait until it is healthy, for a `DURATION` of at most 5m, or the one that is given with =")
	cmd.Flags().Lookup("wait").NoOptDefVal = statusWait
	cmd.Flags().StringVar(&f.probe, "probe", "here", "`WHERE` to ask the routers' addresses from: here, or none")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "failure", "`WHAT` makes the exit code 1: failure or warning")
	cmd.Flags().BoolVar(&f.short, "short", false, "show the verdict and what is wrong, not the facts")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "look again and again, until Ctrl-C; not to a terminal, show what is other than before")
	o := c.addFlags(cmd)
	completeKinds(cmd, "failure", "warning")
	for _, name := range []string{"filename", "domain"} {
		cmd.Flags().Lookup(name).Hidden = true // taken, but without effect here
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := o.arguments()(cmd, args); err != nil {
			return err
		}
		return f.check(o)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.status(cmd.Context(), o, f) }
	return cmd
}

func (f *statusFlags) check(o *options) error {
	switch {
	case len(o.files) > 0:
		return &usageError{"status reads a cluster, not manifests"}
	case f.probe != "here" && f.probe != "none":
		return &usageError{fmt.Sprintf("--probe %q is unknown; use one of: here, none", f.probe)}
	case f.failOn != "failure" && f.failOn != "warning":
		return &usageError{fmt.Sprintf("--fail-on %q is unknown; use one of: failure, warning", f.failOn)}
	case f.watch && (f.wait > 0 || o.output != "text"):
		return &usageError{"-w shows text until Ctrl-C: leave out --wait and -o"}
	case f.wait < 0:
		return &usageError{fmt.Sprintf("--wait %s is less than nothing", f.wait)}
	}
	return nil
}

func (c *command) status(ctx context.Context, o *options, f *statusFlags) error {
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	own, err := o.ownNamespace()
	if err != nil {
		return err
	}
	options := collect.Options{Namespace: own, Router: o.router, Probe: f.probe == "here", Traffic: !f.short, Now: time.Now}
	if f.watch {
		return c.watchStatus(ctx, f, waitPause, func(ctx context.Context) (*check.Report, error) { return judge(ctx, config, options) })
	}
	report, err := c.look(ctx, config, f, options)
	if err != nil {
		return err
	}
	if report.Verdict == check.Unclear {
		err = c.finish(&statusView{report, c, f.short}, true, o)
		c.code = exitUsage
		return err
	}
	return c.finish(&statusView{report, c, f.short}, report.Good(f.failOn == "warning"), o)
}

// look reads and judges a cluster, again and again if the user waits.
func (c *command) look(ctx context.Context, config *rest.Config, f *statusFlags, options collect.Options) (*check.Report, error) {
	started := time.Now()
	reported := started
	for {
		report, err := judge(ctx, config, options)
		waited := time.Since(started)
		if err == nil && report.Good(f.failOn == "warning") || waited+waitPause > f.wait || ctx.Err() != nil {
			return report, err
		}
		if time.Since(reported) >= waitReport {
			reported = time.Now()
			fmt.Fprintf(c.err, "%s of at most %s: %s\n", waited.Round(time.Second), f.wait, waitsFor(report, err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(waitPause):
		}
	}
}

// judge reads and judges a cluster once.
func judge(ctx context.Context, config *rest.Config, options collect.Options) (*check.Report, error) {
	snapshot, err := collect.Read(ctx, config, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	return check.Judge(snapshot), nil
}

// pausesPerLook is how many times as long as a look is the pause before the next one.
const pausesPerLook = 5

// watchStatus shows on a terminal each look in the place of the last one, and writes elsewhere those
// by which a check has another state. The exit code is that of the last one.
func (c *command) watchStatus(ctx context.Context, f *statusFlags, pause time.Duration, look func(context.Context) (*check.Report, error)) error {
	style, live := c.style(f.short), isTerminal(c.screen)
	for last := ""; ; {
		began := time.Now()
		report, err := look(ctx)
		if ctx.Err() != nil {
			return nil // Ctrl-C
		}
		states, text := shownOf(report, err, style)
		switch {
		case live:
			err = c.redraw(text)
		case states != last:
			_, err = fmt.Fprintf(c.screen, "%s\n%s\n", began.Format(time.TimeOnly), text)
		default:
			err = nil
		}
		if err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		last, c.code = states, f.code(report)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(pause, pausesPerLook*time.Since(began))):
		}
	}
}

// shownOf returns the states of all checks, and the screen.
func shownOf(report *check.Report, err error, style check.Style) (states, screen string) {
	var text, all strings.Builder
	if err != nil {
		_, _ = fmt.Fprintln(terminal.Writer(&text), err) // into memory
		return text.String(), text.String()
	}
	_ = report.Screen(&text, style) // into memory
	for i := range report.Checks {
		all.WriteString(report.Checks[i].ID + string(report.Checks[i].State) + " ")
	}
	return string(report.Verdict) + all.String(), text.String()
}

// code is the exit code for a report, or for none.
func (f *statusFlags) code(report *check.Report) int {
	switch {
	case report == nil || report.Verdict == check.Unclear:
		return exitUsage
	case report.Good(f.failOn == "warning"):
		return exitGood
	}
	return exitBad
}

// waitsFor is the first thing that is wrong.
func waitsFor(report *check.Report, err error) string {
	if err != nil {
		return err.Error()
	}
	for _, state := range []check.State{check.Fail, check.Warn} {
		for i := range report.Checks {
			if report.Checks[i].State == state {
				return report.Checks[i].ID + " " + report.Checks[i].Summary
			}
		}
	}
	return strings.Join(report.Notes, "; ")
}

// statusView is the answer for people and for programs.
type statusView struct {
	*check.Report
	command *command
	short   bool
}

// Text writes past the filter of the command, because of the colours; Screen makes each
// line safe itself.
func (v *statusView) Text(io.Writer) error {
	return v.Screen(v.command.screen, v.command.style(v.short)) //nolint:wrapcheck // it says what it does
}

func (c *command) style(short bool) check.Style {
	return check.Style{Short: short, ASCII: !utf8Locale(os.Getenv), Color: colored(c.screen, os.Getenv)}
}

// utf8Locale reports whether the user's locale has more than ASCII.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(env(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// colored reports whether the words that carry a state are shown in color.
func colored(out io.Writer, env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && env("TERM") != "" && isTerminal(out)
}

// isTerminal reports whether what is written is looked at now.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
