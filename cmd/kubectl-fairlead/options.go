package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/fairlead/fairlead/router/explain"
)

// options are the flags that all commands have.
type options struct {
	files                []string
	namespace, router    string
	domain, output       string
	kubeconfig, kcontext string
}

func (c *command) flags(name string) (*pflag.FlagSet, *options) {
	o := &options{}
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringArrayVarP(&o.files, "filename", "f", nil, "")
	fs.StringVarP(&o.namespace, "namespace", "n", "", "")
	fs.StringVar(&o.router, "router", "", "")
	fs.StringVar(&o.domain, "domain", "", "")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	fs.StringVar(&o.kcontext, "context", "", "")
	fs.StringVarP(&o.output, "output", "o", "text", "")
	return fs, o
}

// parse reads the arguments; count is how many may stand without a flag.
func parse(fs *pflag.FlagSet, o *options, args []string, what string, count int) ([]string, error) {
	if err := fs.Parse(args); err != nil {
		return nil, parseError(err, fs.Name())
	}
	rest := fs.Args()
	switch {
	case len(rest) < count:
		return nil, &usageError{"name " + what, fs.Name()}
	case len(rest) > count:
		return nil, &usageError{fmt.Sprintf("%q is one argument too many", rest[count]), fs.Name()}
	case o.output != "text" && o.output != "json":
		return nil, &usageError{fmt.Sprintf("--output %q is neither text nor json", o.output), fs.Name()}
	}
	return rest, nil
}

func parseError(err error, topic string) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return &usageError{err.Error(), topic}
}

// world reads the objects and decides them.
func (c *command) world(ctx context.Context, o *options) (*explain.Snapshot, error) {
	objects, err := c.read(ctx, o)
	if err != nil {
		return nil, err
	}
	return explain.NewSnapshot(objects, explain.Options{Router: o.router, Domain: o.domain, Now: c.now})
}

// read reads the objects from manifests, or else from a cluster.
func (c *command) read(ctx context.Context, o *options) (*explain.Objects, error) {
	if len(o.files) > 0 {
		return c.readFiles(o)
	}
	return readCluster(ctx, o)
}

// answer is what all commands give.
type answer interface {
	Text(io.Writer) error
}

func (c *command) write(a answer, o *options) error {
	if o.output == "text" {
		if err := a.Text(c.out); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		return nil
	}
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func code(good bool) int {
	if good {
		return exitGood
	}
	return exitBad
}
