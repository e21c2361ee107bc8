package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// screen prints a run: titles with the time since its start, commands with their output, results.
type screen struct {
	out    io.Writer
	start  time.Time
	failed []error
}

func newScreen(out io.Writer) *screen { return &screen{out: out, start: time.Now()} }

func (s *screen) title(text string) {
	fmt.Fprintf(s.out, "\n[%7.1fs] == %s\n", time.Since(s.start).Seconds(), text)
}

func (s *screen) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		fmt.Fprint(s.out, "           ", line)
	}
}

// result prints how an act went and notes its failure.
func (s *screen) result(title string, took time.Duration, err error) {
	if err == nil {
		fmt.Fprintf(s.out, "[%7.1fs] ok (%.1fs)\n", time.Since(s.start).Seconds(), took.Seconds())
		return
	}
	s.failed = append(s.failed, fmt.Errorf("%s: %w", title, err))
	fmt.Fprintf(s.out, "[%7.1fs] FAILED: %v\n", time.Since(s.start).Seconds(), err)
}

// maxLines is how much of a command's output is shown.
const maxLines = 24

func (s *screen) show(prompt, command, output string) {
	s.say("%s %s", prompt, command)
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	for i, line := range lines {
		if i == maxLines {
			s.say("  … %d more lines", len(lines)-i)
			break
		}
		s.say("  %s", line)
	}
}

// kubectl runs and shows a kubectl command as the administrator.
func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := d.cluster.Kubectl(ctx, args...)
	d.show("$", "kubectl "+quote(args), out)
	return out, err
}

// client runs and shows a shell command on the host client.
func (d *demo) client(ctx context.Context, command string) (string, error) {
	cmd, err := d.cluster.Command(ctx, "client", "bash", "-o", "pipefail", "-c", command)
	if err != nil {
		return "", err
	}
	out, err := cmd.Output()
	d.show("client$", command, string(out))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%w %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// expect runs a shell command on the client and wants the text in its output.
func (d *demo) expect(ctx context.Context, command, want string) error {
	out, err := d.client(ctx, command)
	if err != nil {
		return err
	}
	if !strings.Contains(out, want) {
		return fmt.Errorf("%s: no %q in the answer", command, want)
	}
	return nil
}

func quote(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, " {}[]()'\"\\|&;*?<>") {
			quoted[i] = "'" + arg + "'"
		}
	}
	return strings.Join(quoted, " ")
}
