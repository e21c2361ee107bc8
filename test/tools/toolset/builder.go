package toolset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// heartbeat is how often a long command reports that it still runs.
const heartbeat = 30 * time.Second

// Builder makes artefacts in one tools folder and prints a line per step. Two builders on one folder, also in two
// processes, wait for each other per artefact.
type Builder struct {
	root  string
	dir   string
	out   io.Writer
	start time.Time
	mu    sync.Mutex
}

// New returns a Builder for the clone that the working directory is in; progress goes to out.
func New(out io.Writer) (*Builder, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"bin", "stamps", "locks", "images"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make the tools folder: %w", err)
		}
	}
	return &Builder{root: root, dir: dir, out: out, start: time.Now()}, nil
}

// Dir returns the tools folder of the builder.
func (b *Builder) Dir() string { return b.dir }

// Progress prints one line with the time since the builder was made.
func (b *Builder) Progress(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, "[%7.1fs] %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// artefact is one thing to make: key says from what, outputs (relative to the tools folder) must exist afterwards.
type artefact struct {
	name    string
	key     string
	outputs []string
	make    func(ctx context.Context) error
}

// ensure makes the artefact unless its stamp and outputs say that it is there.
func (b *Builder) ensure(ctx context.Context, a artefact) error {
	if b.fresh(a) {
		b.Progress("%s: there", a.name)
		return nil
	}
	unlock, err := b.lock(a.name)
	if err != nil {
		return err
	}
	defer unlock()
	if b.fresh(a) {
		b.Progress("%s: made by another run", a.name)
		return nil
	}
	began := time.Now()
	b.Progress("%s: start", a.name)
	if err := a.make(ctx); err != nil {
		return fmt.Errorf("make %s: %w", a.name, err)
	}
	if err := os.WriteFile(b.stamp(a), []byte(a.key), 0o644); err != nil {
		return fmt.Errorf("stamp %s: %w", a.name, err)
	}
	b.Progress("%s: done in %.1fs", a.name, time.Since(began).Seconds())
	return nil
}

func (b *Builder) stamp(a artefact) string { return filepath.Join(b.dir, "stamps", a.name) }

func (b *Builder) fresh(a artefact) bool {
	for _, output := range a.outputs {
		if _, err := os.Stat(filepath.Join(b.dir, output)); err != nil {
			return false
		}
	}
	key, err := os.ReadFile(b.stamp(a))
	return err == nil && string(key) == a.key
}

// lock takes the artefact's lock file; the kernel releases it should this process die.
func (b *Builder) lock(name string) (func(), error) {
	file, err := os.OpenFile(filepath.Join(b.dir, "locks", name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		b.Progress("%s: another run is making it, waiting", name)
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
	return func() { file.Close() }, nil
}

// command describes a program run by a step.
type command struct {
	dir  string
	env  []string
	args []string
}

// run runs the command, reporting now and then that it still does, and returns its standard output. An error carries the
// end of what the command wrote.
func (b *Builder) run(ctx context.Context, c command) (string, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stop := b.beat(c)
	err := cmd.Run()
	stop()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.args, " "), err, tail(stdout.String()+stderr.String(), 20))
	}
	return stdout.String(), nil
}

func (b *Builder) beat(c command) (stop func()) {
	began, done := time.Now(), make(chan struct{})
	go func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.Progress("  … %s %s (%.0fs)", filepath.Base(c.args[0]), c.args[len(c.args)-1], time.Since(began).Seconds())
			}
		}
	}()
	return func() { close(done) }
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
