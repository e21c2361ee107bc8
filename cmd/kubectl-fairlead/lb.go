package main

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/inspect/cluster"
)

func (c *command) lbCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lb [ADDRESS]",
		Short: "Which node announces an address, since when, and which would be next",
		Long: `kubectl fairlead lb [ADDRESS] says which node announces an address, since when, which nodes would be next, which
are excluded and why, and by which BGP sessions. Without ADDRESS it lists all.

It asks the speakers, by port forwarding, because they alone know whom they reach; all of them should say the same. What
your rights do not allow is reported, and then the objects alone decide.

Exit code: 0 announced, 1 not announced or the speakers disagree, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead lb
  kubectl fairlead lb 192.168.10.201
  kubectl fairlead lb 192.168.10.201 -o json`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	objectsOnly := cmd.Flags().Bool("objects-only", false, "do not ask the speakers")
	o := c.addFlags(cmd)
	for _, name := range []string{"filename", "namespace", "router", "domain"} {
		cmd.Flags().Lookup(name).Hidden = true // taken, but without effect here
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return o.arguments()(cmd, args)
		}
		return o.arguments("an address")(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(o.files) > 0 {
			return &usageError{"lb reads a cluster, not manifests"}
		}
		view := &inspect.View{Now: c.now}
		var only netip.Addr
		if len(args) == 1 {
			var err error
			if only, err = netip.ParseAddr(args[0]); err != nil {
				return &usageError{fmt.Sprintf("%q is not an address", args[0])}
			}
			view.Detail = true
		}
		config, err := kubeconfig(o).ClientConfig()
		if err != nil {
			return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
		}
		objects, err := cluster.Read(cmd.Context(), config, !*objectsOnly)
		if err != nil {
			return err
		}
		view.Answers = inspect.Look(objects, only)
		return c.finish(view, view.Good(), o)
	}
	return cmd
}
