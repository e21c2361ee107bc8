// Command fairlead serves the Routes and Ingresses of files, without Kubernetes and
// without root:
//
//	fairlead serve -f manifests/
//	fairlead explain http://hello.apps.localhost/ -f manifests/
//	fairlead version
//
// It is the router of a cluster with another source of objects.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead/fairlead/api/version"
)

// Exit codes.
const (
	exitGood    = 0 // ended by a signal, or no error found
	exitBad     = 1 // --check found errors
	exitUsage   = 2 // wrong arguments, or nothing could be read
	exitHAProxy = 3 // HAProxy is missing, too old or does not stay up
)

// exitError is an error with the code that the program ends with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// errShown means that the user has seen what is wrong.
var errShown = errors.New("shown")

const usage = `fairlead serves the Routes and Ingresses of files with HAProxy.

  fairlead serve -f PATH...                           serve, and follow changes of the files (fairlead serve --help)
  fairlead explain URL -f PATH...                     which Route and pods a request gets, and why
  fairlead why route/NAMESPACE/NAME -f PATH...        what becomes of an object, and why
  fairlead lint -f PATH...                            what is wrong with the files
  fairlead version                                    print the version
`

func main() {
	// The first signal ends the program in order, the second at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, in io.Reader, out, errors io.Writer) int {
	var err error
	switch command := append(args, "")[0]; command {
	case "serve":
		err = serve(ctx, args[1:], in, out, errors)
	case "explain", "why", "lint":
		err = ask(ctx, command, args[1:], in, out, errors)
	case "version", "--version":
		fmt.Fprintln(out, "fairlead", version.Line())
	case "help", "--help", "-h":
		fmt.Fprint(out, usage)
	case "":
		err = &exitError{exitUsage, fmt.Errorf("no command given\n\n%s", usage)}
	default:
		err = &exitError{exitUsage, fmt.Errorf("unknown command %q; use one of: serve, explain, why, lint, version", command)}
	}
	return exitCode(err, errors)
}

// exitCode prints an error, unless that has been done, and returns its code.
func exitCode(err error, out io.Writer) int {
	if err == nil {
		return exitGood
	}
	if !errors.Is(err, errShown) {
		fmt.Fprintln(out, "fairlead:", err)
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitBad
}
