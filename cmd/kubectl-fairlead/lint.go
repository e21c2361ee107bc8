package main

import "github.com/spf13/cobra"

func (c *command) lintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "What is wrong with manifests; for CI",
		Long: `kubectl fairlead lint says what is wrong with manifests, or with the objects of a cluster.

Each line has file:line, object, field, reason and message.
Exit code: 0 no error (warnings may be there), 1 errors, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead lint -f manifests/
  kustomize build . | kubectl fairlead lint -f -
  kubectl fairlead lint -n web`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o := c.addFlags(cmd)
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w, err := c.decide(cmd.Context(), o)
		if err != nil {
			return err
		}
		namespace := o.namespace
		if len(o.files) > 0 {
			namespace = "" // there, it only completes the manifests
		}
		l := w.Lint(namespace)
		return c.finish(l, l.Errors == 0, o)
	}
	return cmd
}
