package main

import (
	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/router/explain"
)

func (c *command) renderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render",
		Short: "The HAProxy configuration that manifests give",
		Long: `kubectl fairlead render shows the HAProxy configuration, maps and certificate list that manifests give.
Private keys are not shown.

Exit code: 0 done, 1 --check found something, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead render -f manifests/
  kubectl fairlead render -f manifests/ --haproxy 3.0
  kubectl fairlead render -f manifests/ -o json | jq -r '.files["haproxy.cfg"]'
  kubectl fairlead render -f manifests/ --check`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	version := cmd.Flags().String("haproxy", explain.NewestHAProxy, "`VERSION` of HAProxy to write for: 3.0, 3.2 or 3.4")
	check := cmd.Flags().Bool("check", false, "show no files; read the configuration as HAProxy's configuration library does, and report "+
		"sections that are missing and lines that are not understood")
	o := c.addFlags(cmd)
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w, err := c.decide(cmd.Context(), o)
		if err != nil {
			return err
		}
		r, err := w.Render(*version)
		if err != nil {
			return err
		}
		if !*check {
			return c.finish(r, true, o)
		}
		checked := r.Check()
		return c.finish(checked, len(checked.Faults) == 0, o)
	}
	return cmd
}
