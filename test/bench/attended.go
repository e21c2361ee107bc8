package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead/fairlead/test/browser"
)

// attended is what a browser takes for a test: what would end a test ends the measurement.
type attended struct {
	ctx  context.Context //nolint:containedctx // as of a test
	dir  string
	ends []func()
}

// failure is a panic of it, which withBrowser makes an error.
type failure struct {
	text string
	// skipped says that there is no browser.
	skipped bool
}

var _ browser.T = (*attended)(nil)

// withBrowser measures with a browser, and returns false without one.
func withBrowser(ctx context.Context, dir string, measure func(browser.T)) (there bool, err error) {
	a := &attended{ctx: ctx, dir: dir}
	defer func() {
		for _, end := range slices.Backward(a.ends) {
			end()
		}
	}()
	defer func() {
		p := recover()
		f, ours := p.(failure)
		switch {
		case p == nil:
		case !ours:
			panic(p)
		case f.skipped:
			there = false
		default:
			err = fmt.Errorf("in the browser: %s", f.text)
		}
	}()
	measure(a)
	return true, nil
}

// Helper implements browser.T.
func (a *attended) Helper() {}

// Context implements browser.T.
func (a *attended) Context() context.Context { return a.ctx }

// Fatal implements browser.T.
func (a *attended) Fatal(args ...any) { panic(failure{text: fmt.Sprint(args...)}) }

// Fatalf implements browser.T.
func (a *attended) Fatalf(format string, args ...any) {
	panic(failure{text: fmt.Sprintf(format, args...)})
}

// Error implements browser.T.
func (a *attended) Error(args ...any) { fmt.Fprintln(os.Stderr, args...) }

// Skip implements browser.T.
func (a *attended) Skip(...any) { panic(failure{skipped: true}) }

// TempDir implements browser.T.
func (a *attended) TempDir() string {
	dir := filepath.Join(a.dir, "browser")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		a.Fatal(err)
	}
	return dir
}

// Cleanup implements browser.T.
func (a *attended) Cleanup(f func()) { a.ends = append(a.ends, f) }
