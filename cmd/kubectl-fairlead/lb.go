package main

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/inspect/cluster"
)

// lb says who announces addresses, and why.
func (c *command) lb(ctx context.Context, args []string) (int, error) {
	fs, o := c.flags("lb")
	objectsOnly := fs.Bool("objects-only", false, "")
	if err := fs.Parse(args); err != nil {
		return 0, parseError(err, "lb")
	}
	rest, err := parse(fs, o, args, "an address", min(fs.NArg(), 1))
	if err != nil {
		return 0, err
	}
	if len(o.files) > 0 {
		return 0, &usageError{"lb reads a cluster, not manifests", "lb"}
	}
	view := &inspect.View{Now: c.now}
	var only netip.Addr
	if len(rest) == 1 {
		if only, err = netip.ParseAddr(rest[0]); err != nil {
			return 0, &usageError{fmt.Sprintf("%q is not an address", rest[0]), "lb"}
		}
		view.Detail = true
	}
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return 0, fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	objects, err := cluster.Read(ctx, config, !*objectsOnly)
	if err != nil {
		return 0, err
	}
	view.Answers = inspect.Look(objects, only)
	return code(view.Good()), c.write(view, o)
}
