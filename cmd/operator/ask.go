package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/fairlead/fairlead/operator/canary"
)

const askUsage = `operator ask asks the routers at an address whether they serve, as "helm test" does, and ends.

Flags:
`

// ask asks routers, and returns the exit code: 0 for the right answer, 1 for none within the time, 2 for
// wrong arguments.
func ask(ctx context.Context, args []string, out io.Writer) int {
	f := flag.NewFlagSet("operator ask", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprint(f.Output(), askUsage)
		f.PrintDefaults()
	}
	address := f.String("address", "", "IP `address` of the routers' Service (required)")
	host := f.String("host", "", "the canary's `host`; empty asks for a host that no Route has, which a router answers with 503")
	within := f.Duration("timeout", 2*time.Minute, "`time` within which there has to be an answer")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if net.ParseIP(*address) == nil {
		fmt.Fprintf(out, "operator ask: --address %q is no IP address: the operator has not made the Service of the routers yet; kubectl fairlead status says why\n", *address)
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	if err := canary.Once(ctx, *address, *host); err != nil {
		fmt.Fprintf(out, "operator ask: %v; kubectl fairlead status says more\n", err)
		return 1
	}
	fmt.Fprintf(out, "the routers at %s serve\n", *address)
	return 0
}
