package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/check/collect"
	"github.com/fairlead/fairlead/check/preflight"
)

func (c *command) preflightCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "May Fairlead be installed or upgraded in this cluster",
		Long: `kubectl fairlead preflight says whether Fairlead may be installed or upgraded in a cluster: versions, which program owns
the kinds, ports of nodes, other providers of addresses, other Ingress controllers, your rights, Pod Security and webhooks. It changes
nothing, and needs nothing of Fairlead in the cluster.

Each line is ok, warn or fail, with what to do and the page that says more. What your rights do not let it read is unknown, and
a note.

Exit code: 0 it may be installed, perhaps with warnings, 1 something has failed, 2 wrong arguments or too much could not be read.`,
		Example: `  kubectl fairlead preflight
  kubectl fairlead preflight --context production
  kubectl fairlead preflight -o yaml
  kubectl fairlead preflight -o json | jq -r '.checks[] | select(.state == "fail") | .summary'`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o := c.addFlags(cmd)
	o.forms = []string{"yaml"}
	for _, name := range []string{"filename", "domain", "router", "namespace"} {
		cmd.Flags().Lookup(name).Hidden = true // taken, but without effect here
	}
	cmd.Flags().Lookup("output").Usage = "`FORM` of the answer: text, json or yaml"
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(o.files) > 0 {
			return &usageError{"preflight reads a cluster, not manifests"}
		}
		config, err := kubeconfig(o).ClientConfig()
		if err != nil {
			return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
		}
		facts, err := collect.Preflight(cmd.Context(), config)
		if err != nil {
			return err
		}
		report := preflight.Judge(facts)
		err = c.finish(report, report.Verdict != preflight.NotReady, o)
		if report.Verdict == preflight.Unclear {
			c.code = exitUsage
		}
		return err
	}
	return cmd
}
