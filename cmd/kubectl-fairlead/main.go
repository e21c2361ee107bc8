// Command kubectl-fairlead says what becomes of a request, and why, from the
// same decisions that the router takes. As a plug-in of kubectl it is
// `kubectl fairlead`.
//
//	kubectl fairlead explain https://www.example.com/shop
//	kubectl fairlead why route/shop
//	kubectl fairlead lint -f manifests/
//	kubectl fairlead render -f manifests/
//	kubectl fairlead lb 192.168.10.201
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead/fairlead/api/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	c := &command{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now()}
	code := c.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitGood  = 0 // served, nothing to complain about
	exitBad   = 1 // not served, errors found
	exitUsage = 2 // wrong arguments, or something could not be read
)

// command is one run of the program.
type command struct {
	in       io.Reader
	out, err io.Writer
	now      time.Time
}

// usageError is one that the help text answers.
type usageError struct {
	message, topic string
}

func (e *usageError) Error() string { return e.message }

// run returns the exit code.
//
// All that it writes goes through one place that lets nothing through which a
// terminal would obey: names and messages come from whoever may write objects.
func (c *command) run(ctx context.Context, args []string) int {
	c.out, c.err = terminal.Writer(c.out), terminal.Writer(c.err)
	topic := ""
	if len(args) > 0 {
		topic = args[0]
	}
	do := map[string]func(context.Context, []string) (int, error){
		"explain": c.explain, "why": c.why, "lint": c.lint, "render": c.render, "lb": c.lb,
	}[topic]
	switch {
	case topic == "" || topic == "help" || topic == "-h" || topic == "--help":
		return c.help(args)
	case do == nil:
		fmt.Fprintf(c.err, "error: there is no command %q; see kubectl fairlead --help\n", topic)
		return exitUsage
	}
	code, err := do(ctx, args[1:])
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(c.err, "error: %s\nSee kubectl fairlead %s --help\n", usage.message, topic)
		return exitUsage
	}
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(c.out, helpOf(topic))
		return exitGood
	case err != nil:
		fmt.Fprintf(c.err, "error: %v\n", err)
		return exitUsage
	}
	return code
}

func (c *command) help(args []string) int {
	if len(args) > 1 {
		if text := helpOf(args[1]); text != "" {
			fmt.Fprint(c.out, text)
			return exitGood
		}
	}
	fmt.Fprint(c.out, helpOf(""))
	if len(args) == 0 {
		return exitUsage
	}
	return exitGood
}
