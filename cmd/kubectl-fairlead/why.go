package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (c *command) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "What a route, ingress, service, policy or object of the Gateway API does, and what shadows it",
		Long: `kubectl fairlead why KIND/NAME says which URLs reach an object, what shadows it and what its findings mean.
Of a Gateway or ListenerSet it says what becomes of each listener and which routes are attached to it.

Exit code: 0 served, 1 not served, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead why route/shop -n web
  kubectl fairlead why ingress/shop
  kubectl fairlead why service/cart -f manifests/
  kubectl fairlead why routepolicy/members
  kubectl fairlead why httproute/shop -n web
  kubectl fairlead why gateway/web -n infra`,
	}
	o := c.addFlags(cmd)
	cmd.Args = o.arguments("an object, such as route/shop")
	cmd.ValidArgsFunction = c.completeObject(o, kinds())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, name, ok := strings.Cut(args[0], "/")
		if !ok || name == "" {
			return &usageError{fmt.Sprintf("%q names no object; write KIND/NAME, such as route/shop", args[0])}
		}
		var err error
		if o.namespace, err = o.ownNamespace(); err != nil {
			return err
		}
		w, err := c.decide(cmd.Context(), o)
		if err != nil {
			return err
		}
		answer, err := w.Why(kind, o.namespace, name)
		if err != nil {
			return err
		}
		return c.finish(answer, answer.Served, o)
	}
	return cmd
}
