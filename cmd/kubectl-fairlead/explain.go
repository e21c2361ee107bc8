package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/explain"
)

func (c *command) explainCommand() *cobra.Command {
	var a explain.RequestArgs
	cmd := &cobra.Command{
		Use:   "explain URL | --id ID",
		Short: "Which route, certificate and endpoints a request gets",
		Long: `kubectl fairlead explain URL says what becomes of a request, and why. With --id it says what became of a request that
failed in the last minutes, by the X-Request-ID of its answer or the ID of its trace, and what is decided about its URL now.
Routers keep such requests where the IngressController has the annotation fairlead.dev/keep-requests: failed; --id needs the
ClusterRole fairlead-log-reader in namespace openshift-ingress.

Exit code: 0 served, or found, 1 not served, or not found, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead explain https://www.example.com/shop/cart
  kubectl fairlead explain http://10.1.2.3/ -H 'Host: www.example.com'
  kubectl fairlead explain https://www.example.com/ --sni other.example.com
  kubectl fairlead explain https://www.example.com/ --client-ip 203.0.113.7
  kubectl fairlead explain https://www.example.com/ --client-subject 'CN=alice,O=Example'
  kubectl fairlead explain http://www.example.com/ --gateway infra/web -X POST
  kubectl fairlead explain https://www.example.com/ -f manifests/ -o json
  kubectl fairlead explain --id 3b1f6c1e-7a44-4c4e-9d4b-2f0f3f1c9a55`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringArrayVarP(&a.Headers, "header", "H", nil, "a request header as `'Name: value'`, such as Host or Cookie; may be repeated")
	cmd.Flags().StringVar(&a.SNI, "sni", "", "server `NAME` of the TLS hello; default is the URL's host, - sends none")
	cmd.Flags().StringVarP(&a.Method, "method", "X", "", "the request's method; default GET")
	at := cmd.Flags().String("gateway", "", "ask at the address of a Gateway, as `NAMESPACE/NAME` or NAME")
	cmd.Flags().StringVar(&a.ClientIP, "client-ip", "", "`ADDRESS` of the client, for allow-lists")
	cmd.Flags().StringVar(&a.Subject, "client-subject", "", "`NAME` in the client's certificate as RFC 2253 writes it, such as CN=alice,O=Example; - shows no certificate")
	id := cmd.Flags().String("id", "", "what became of the request with this `ID`, in place of a URL")
	o := c.addFlags(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *id != "" {
			return o.arguments()(cmd, args)
		}
		return o.arguments("a URL, such as https://www.example.com/")(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		gateway, err := gatewayNamed(o, *at)
		if err != nil {
			return err
		}
		if *id != "" {
			return c.explainPast(cmd, o, *id, gateway)
		}
		a.URL, a.SNISet = args[0], cmd.Flags().Changed("sni")
		return c.explainURL(cmd.Context(), o, a, gateway)
	}
	return cmd
}

// gatewayNamed returns the Gateway that a flag names, in the user's namespace unless it names one; none for an empty flag.
func gatewayNamed(o *options, flag string) (types.NamespacedName, error) {
	namespace, name, both := strings.Cut(flag, "/")
	if both || flag == "" {
		return types.NamespacedName{Namespace: namespace, Name: name}, nil
	}
	own, err := o.ownNamespace()
	return types.NamespacedName{Namespace: own, Name: flag}, err
}

func (c *command) explainURL(ctx context.Context, o *options, a explain.RequestArgs, gateway types.NamespacedName) error {
	request, err := explain.ParseRequest(a)
	if err != nil {
		return &usageError{err.Error()}
	}
	w, err := c.decide(ctx, o)
	if err != nil {
		return err
	}
	if gateway.Name == "" {
		e := w.Explain(request)
		return c.finish(e, e.Served, o)
	}
	e, err := w.ExplainAt(request, gateway.Namespace, gateway.Name)
	if err != nil {
		return err
	}
	return c.finish(e, e.Served, o)
}
