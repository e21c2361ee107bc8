package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/router/explain"
)

// options are the flags that several commands have.
type options struct {
	files                []string
	namespace, router    string
	domain, output       string
	kubeconfig, kcontext string
	// forms are those that a command has beside text and json; with objects it has yaml and
	// json.
	forms   []string
	objects bool
}

// addFlags gives a command the flags that say where its objects come from, and
// the form of its output.
func (c *command) addFlags(cmd *cobra.Command) *options {
	o := &options{}
	fs := cmd.Flags()
	fs.SortFlags = false // a command's own flags come first
	fs.StringArrayVarP(&o.files, "filename", "f", nil, "manifests: a `PATH` of a file, of a folder (with all below it), or - for standard input; may be repeated")
	fs.StringVarP(&o.namespace, "namespace", "n", "", "`NAMESPACE` of the object, and of manifests that name none")
	fs.StringVar(&o.router, "router", "", "`NAME` of the IngressController to ask; default is \"default\", or the only one")
	fs.StringVar(&o.domain, "domain", "", "`DOMAIN` that completes routes without host; default is the IngressController's")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that names the cluster; default is $KUBECONFIG, then ~/.kube/config")
	fs.StringVar(&o.kcontext, "context", "", "`NAME` of the kubeconfig's context")
	fs.StringVarP(&o.output, "output", "o", "text", "`FORM` of the answer: text or json")
	c.completeFlags(cmd, o)
	return o
}

// outputs are the forms of output that the command has.
func (o *options) outputs() []string {
	if o.objects {
		return []string{"yaml", "json"}
	}
	return append([]string{"text", "json"}, o.forms...)
}

// arguments demands that the command line names exactly these things, and a form
// of output that exists.
func (o *options) arguments(what ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(what):
			return &usageError{"name " + what[len(args)]}
		case len(args) > len(what):
			return &usageError{fmt.Sprintf("%q is one argument too many", args[len(what)])}
		}
		return o.form()
	}
}

// form demands a form of output that exists.
func (o *options) form() error {
	if !slices.Contains(o.outputs(), o.output) {
		return &usageError{fmt.Sprintf("--output %q is unknown; use one of: %s", o.output, strings.Join(o.outputs(), ", "))}
	}
	return nil
}

// decide reads the objects and decides them.
func (c *command) decide(ctx context.Context, o *options) (*explain.Snapshot, error) {
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

// finish writes the answer, and sets the exit code.
func (c *command) finish(a answer, good bool, o *options) error {
	if !good {
		c.code = exitBad
	}
	switch o.output {
	case "json":
	case "yaml":
		text, err := yaml.Marshal(a)
		if err == nil {
			_, err = c.out.Write(text)
		}
		if err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		return nil
	default:
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
