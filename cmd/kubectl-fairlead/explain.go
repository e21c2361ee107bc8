package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/router/explain"
)

func (c *command) explainCommand() *cobra.Command {
	var a explain.RequestArgs
	cmd := &cobra.Command{
		Use:   "explain URL",
		Short: "Which route, certificate and endpoints a request gets",
		Long: `kubectl fairlead explain URL says what becomes of a request, and why.

Exit code: 0 served, 1 not served, 2 wrong arguments or something could not be read.`,
		Example: `  kubectl fairlead explain https://www.example.com/shop/cart
  kubectl fairlead explain http://10.1.2.3/ -H 'Host: www.example.com'
  kubectl fairlead explain https://www.example.com/ --sni other.example.com
  kubectl fairlead explain https://www.example.com/ --client-ip 203.0.113.7
  kubectl fairlead explain https://www.example.com/ --client-subject 'CN=alice,O=Example'
  kubectl fairlead explain http://www.example.com/ --gateway infra/web -X POST
  kubectl fairlead explain https://www.example.com/ -f manifests/ -o json`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringArrayVarP(&a.Headers, "header", "H", nil, "a request header as `'Name: value'`, such as Host or Cookie; may be repeated")
	cmd.Flags().StringVar(&a.SNI, "sni", "", "server `NAME` of the TLS hello; default is the URL's host, - sends none")
	cmd.Flags().StringVarP(&a.Method, "method", "X", "", "the request's method; default GET")
	at := cmd.Flags().String("gateway", "", "ask at the address of a Gateway, as `NAMESPACE/NAME` or NAME")
	cmd.Flags().StringVar(&a.ClientIP, "client-ip", "", "`ADDRESS` of the client, for allow-lists")
	cmd.Flags().StringVar(&a.Subject, "client-subject", "", "`NAME` in the client's certificate as RFC 2253 writes it, such as CN=alice,O=Example; - shows no certificate")
	o := c.addFlags(cmd)
	cmd.Args = o.arguments("a URL, such as https://www.example.com/")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.URL, a.SNISet = args[0], cmd.Flags().Changed("sni")
		request, err := explain.ParseRequest(a)
		if err != nil {
			return &usageError{err.Error()}
		}
		w, err := c.decide(cmd.Context(), o)
		if err != nil {
			return err
		}
		if *at == "" {
			e := w.Explain(request)
			return c.finish(e, e.Served, o)
		}
		namespace, name, both := strings.Cut(*at, "/")
		if !both {
			name = namespace
			if namespace, err = o.ownNamespace(); err != nil {
				return err
			}
		}
		e, err := w.ExplainAt(request, namespace, name)
		if err != nil {
			return err
		}
		return c.finish(e, e.Served, o)
	}
	return cmd
}
