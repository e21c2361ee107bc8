package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
)

// convertFlags are the flags of convert alone.
type convertFlags struct {
	gateway, class, certificate string
	all, keys, report           bool
}

func (c *command) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert [route/NAME | ingress/NAME]...",
		Short: "Routes and Ingresses as objects of the Gateway API",
		Long: `kubectl fairlead convert writes what Routes and Ingresses say as objects of the Gateway API:
HTTPRoutes, GRPCRoutes and TLSRoutes with their listeners, and RoutePolicies for what these cannot
say. Nothing is applied: the objects go to standard output, what is to be known about them to
standard error.

The router's own code decides about the objects, and compares them with the Routes. A Route of which
something that protects has no form there becomes a route that is closed: it has the host and path of
the Route, and answers 500.

Exit code: 0 each Route was converted, 1 some were closed or left out, 2 wrong arguments or something
could not be read.`,
		Example: `  kubectl fairlead convert -n shop
  kubectl fairlead convert -f manifests/ --gateway infra/web > gateway.yaml
  kubectl fairlead convert route/cart ingress/blog -n shop --report`,
	}
	cmd.Flags().StringVar(&f.gateway, "gateway", "", "`NAMESPACE/NAME` of a Gateway that ListenerSets add listeners to; without it each namespace gets a Gateway")
	cmd.Flags().StringVar(&f.class, "class", "fairlead", "`NAME` of the GatewayClass of new Gateways")
	cmd.Flags().StringVar(&f.certificate, "certificate", "", "`[NAMESPACE/]NAME` of the Secret that listeners show for Routes without a certificate of their own")
	cmd.Flags().BoolVar(&f.keys, "with-keys", false, "write Secrets with the private keys of Routes")
	cmd.Flags().BoolVar(&f.report, "report", false, "write only what is to be known about the objects, to standard output")
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "Routes and Ingresses of all namespaces")
	o := c.addFlags(cmd)
	o.output, o.objects = "yaml", true
	cmd.Flags().Lookup("output").DefValue = "yaml"
	cmd.Flags().Lookup("output").Usage = "`FORM` of the objects: yaml or json"
	_ = cmd.RegisterFlagCompletionFunc("gateway", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("certificate", cobra.NoFileCompletions)
	cmd.ValidArgsFunction = c.completeObject(o, map[string]schema.GroupVersionResource{"route": kinds()["route"], "ingress": kinds()["ingress"]})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := f.arguments(o, args)
		if err != nil {
			return err
		}
		w, err := c.decide(cmd.Context(), o)
		if err != nil {
			return err
		}
		made, err := w.Convert(*a)
		if err != nil {
			return err
		}
		return c.writeConversion(made, &f, o)
	}
	return cmd
}

// arguments reads what is to be converted, and to what.
func (f *convertFlags) arguments(o *options, args []string) (*explain.ConvertArgs, error) {
	a := &explain.ConvertArgs{}
	if err := o.form(); err != nil {
		return nil, err
	}
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if kind = strings.ToLower(kind); !ok || name == "" || kind != "route" && kind != "ingress" {
			return nil, &usageError{fmt.Sprintf("%q names no Route or Ingress; write route/NAME or ingress/NAME", arg)}
		}
		a.Objects = append(a.Objects, explain.ConvertObject{Kind: kind, Name: name})
	}
	if f.all && len(args) > 0 {
		return nil, &usageError{"--all-namespaces is for all Routes and Ingresses; name the namespace of single ones with -n"}
	}
	if all := f.all || len(o.files) > 0 && o.namespace == "" && len(args) == 0; !all {
		namespace, err := o.ownNamespace()
		if err != nil {
			return nil, err
		}
		a.Namespace = namespace
	}
	a.Class, a.Keys = f.class, f.keys
	var ok bool
	if a.Gateway, ok = objectNamed(f.gateway); !ok || f.gateway != "" && a.Gateway.Namespace == "" {
		return nil, &usageError{fmt.Sprintf("--gateway %q names no Gateway; write NAMESPACE/NAME", f.gateway)}
	}
	if a.Certificate, ok = objectNamed(f.certificate); !ok {
		return nil, &usageError{fmt.Sprintf("--certificate %q names no Secret; write NAME, or NAMESPACE/NAME", f.certificate)}
	}
	return a, nil
}

// objectNamed reads NAME or NAMESPACE/NAME; an empty text names nothing.
func objectNamed(text string) (o model.Object, ok bool) {
	namespace, name, both := strings.Cut(text, "/")
	if !both {
		namespace, name = "", text
	}
	return model.Object{Namespace: namespace, Name: name}, (!both || namespace != "" && name != "") && !strings.Contains(name, "/")
}

// writeConversion writes the objects, unless only the report is asked for, and the report.
func (c *command) writeConversion(made *explain.Conversion, f *convertFlags, o *options) error {
	if !made.Complete() {
		c.code = exitBad
	}
	if f.report {
		return made.Report(c.out)
	}
	var text bytes.Buffer
	write := made.YAML
	if o.output == "json" {
		write = made.JSON
	}
	if err := write(&text); err != nil {
		return err
	}
	if _, err := io.Copy(c.out, &text); err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	return made.Report(c.err)
}
