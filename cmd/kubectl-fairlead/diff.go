package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/router/explain"
)

// diffFlags are the flags of diff alone.
type diffFlags struct {
	against, failOn string
	prune           bool
}

const againstCluster = "cluster"

func (c *command) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff -f PATH",
		Short: "What changes for clients if manifests are applied",
		Long: `kubectl fairlead diff says what requests meet otherwise after manifests are applied.

It compares behavior, not text: for each host, path, scheme and range of client addresses
that routes distinguish, both sides are asked as kubectl fairlead explain would be.

Exit code: 0 no change of the kinds of --fail-on, 1 such a change, 2 wrong arguments or
something could not be read.`,
		Example: `  kubectl fairlead diff -f manifests/
  kubectl fairlead diff -f manifests/ --prune --fail-on lost
  kubectl fairlead diff -f new/ --against old/ -o markdown
  kubectl fairlead diff -f manifests/ --against git:main`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&f.against, "against", againstCluster, "what there is before: cluster, the `PATH` of manifests that are all there is, or git:REF for what -f names in a commit")
	cmd.Flags().BoolVar(&f.prune, "prune", false, "Routes, Ingresses, RoutePolicies and objects of the Gateway API that the manifests of their namespace do not have go")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "any", "`KINDS` of changes that make the exit code 1: any, none, or a list of "+strings.Join(kindNames(), ", "))
	o := c.addFlags(cmd)
	o.forms = append(o.forms, "markdown")
	completeKinds(cmd, append([]string{"any", "none"}, kindNames()...)...)
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		kinds, err := f.kinds()
		if err != nil {
			return err
		}
		if len(o.files) == 0 {
			return &usageError{"name manifests with -f"}
		}
		before, after, err := c.sides(cmd.Context(), o, &f)
		if err != nil {
			return err
		}
		d, err := c.compare(before, after, o)
		if err != nil {
			return err
		}
		good := f.failOn == "none" || !d.Has(kinds...)
		if o.output == "markdown" {
			return c.finish(markdown{d}, good, o)
		}
		return c.finish(d, good, o)
	}
	return cmd
}

// kinds are those that make the exit code 1; none for all.
func (f *diffFlags) kinds() (kinds []explain.ChangeKind, err error) {
	if f.failOn == "any" || f.failOn == "none" {
		return nil, nil
	}
	for name := range strings.SplitSeq(f.failOn, ",") {
		kind := explain.ChangeKind(strings.TrimSpace(name))
		if !slices.Contains(explain.ChangeKinds(), kind) {
			return nil, &usageError{fmt.Sprintf("--fail-on %q is unknown; use one of: any, none, %s", name, strings.Join(kindNames(), ", "))}
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func kindNames() (names []string) {
	for _, k := range explain.ChangeKinds() {
		names = append(names, string(k))
	}
	return names
}

// sides reads what there is before and after.
func (c *command) sides(ctx context.Context, o *options, f *diffFlags) (before, after *explain.Objects, err error) {
	manifests, err := c.readFiles(o)
	if err != nil {
		return nil, nil, err
	}
	if f.against == againstCluster {
		cluster, err := readCluster(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		before, after = cluster.Apply(manifests, f.prune)
		return before, after, nil
	}
	if f.prune {
		return nil, nil, &usageError{"--prune is for a cluster: with --against PATH, what the manifests of -f do not have is gone"}
	}
	if ref, is := strings.CutPrefix(f.against, againstGit); is {
		before, err = c.readCommit(ctx, o, ref)
		return before, manifests, err
	}
	former := *o
	former.files = []string{f.against}
	before, err = c.readFiles(&former)
	return before, manifests, err
}

// compare decides both sides.
func (c *command) compare(before, after *explain.Objects, o *options) (*explain.Difference, error) {
	view := explain.Options{Router: o.router, Domain: o.domain, Now: c.now}
	was, err := explain.NewSnapshot(before, view)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	is, err := explain.NewSnapshot(after, view)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	return explain.Compare(was, is), nil
}

// markdown is a difference in another form.
type markdown struct{ d *explain.Difference }

// Text implements answer.
func (m markdown) Text(w io.Writer) error { return m.d.Markdown(w) }
