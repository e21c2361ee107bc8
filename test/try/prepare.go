package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// prepare compiles fairlead and fetches HAProxy, side by side, and returns both programs.
func prepare(ctx context.Context, root string, p *progress) (program, haproxy string, err error) {
	stop := p.run()
	defer stop()
	dir, err := toolset.Dir()
	if err != nil {
		return "", "", err
	}
	var steps sync.WaitGroup
	var fetched error
	steps.Go(func() { fetched = fetchHAProxy(ctx, p) })
	program = filepath.Join(dir, "bin", "fairlead")
	compiled := compile(ctx, root, program, p)
	steps.Wait()
	if err := errors.Join(compiled, fetched); err != nil {
		return "", "", err
	}
	haproxy, err = toolset.Path("haproxy")
	return program, haproxy, err
}

// fetchHAProxy unpacks HAProxy into .tools unless it is there, or uses what
// FAIRLEAD_HAPROXY names.
func fetchHAProxy(ctx context.Context, p *progress) error {
	if _, err := toolset.Path("haproxy"); err == nil {
		return nil
	}
	s := p.start("Fetch HAProxy 3.4 from Debian into .tools")
	b, err := toolset.New(lines(func(line string) {
		_, text, _ := strings.Cut(line, "] ")
		s.set("%.0fs, %s", time.Since(s.began).Seconds(), strings.TrimSpace(text))
	}))
	if err == nil {
		err = b.NewestHAProxy(ctx)
	}
	s.end(err)
	return err
}

// lines returns a writer that calls a function for each line.
func lines(each func(string)) io.Writer {
	r, w := io.Pipe()
	go func() {
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			each(scanner.Text())
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	return w
}

// compile builds ./cmd/fairlead, and shows how many packages are left.
func compile(ctx context.Context, root, program string, p *progress) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	env := buildEnvironment()
	s := p.start("Compile fairlead")
	s.set("reading the module")
	var failure bytes.Buffer
	total := stale(ctx, root, env, &failure)
	if total == 0 {
		s.set("nothing has changed")
	}
	done, began := 0, time.Now()
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-ldflags=-s -w", "-o", program, "./cmd/fairlead")
	cmd.Dir, cmd.Env = root, env
	failure.Reset()
	cmd.Stderr = io.MultiWriter(&failure, lines(func(line string) {
		if strings.HasPrefix(line, "go: downloading ") {
			s.set("%s", strings.TrimPrefix(line, "go: "))
			return
		}
		done++
		if done > total {
			total = done
		}
		left := time.Since(began) / time.Duration(done) * time.Duration(total-done)
		s.set("%2d %%, %d of %d packages, about %.0fs left", 100*done/total, done, total, max(left.Seconds(), 1))
	}))
	err := cmd.Run()
	if err != nil {
		all := strings.Split(strings.TrimSpace(failure.String()), "\n")
		err = fmt.Errorf("compile fairlead: %w\n%s", err, strings.Join(all[max(0, len(all)-20):], "\n"))
	}
	s.end(err)
	return err
}

// stale counts the packages that are to be compiled, or returns 0 if that is not known.
func stale(ctx context.Context, root string, env []string, errors io.Writer) int {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", "./cmd/fairlead")
	cmd.Dir, cmd.Env, cmd.Stderr = root, env, errors
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	return len(strings.Fields(string(out)))
}

func buildEnvironment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+goflags())
}

// goflags are those of the Makefile, so that nothing is compiled twice.
func goflags() string {
	flags := os.Getenv("GOFLAGS")
	if strings.Contains(flags, "-trimpath") {
		return flags
	}
	return strings.TrimSpace(flags + " -trimpath")
}
