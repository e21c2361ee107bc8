// Command cloud counts what load balancers of AWS cost in calls of AWS's API:
// the hook with the real SDK, against a fake AWS. The clock is put forward, so
// that six hours take a second. Its test holds the limits, and the table of
// docs/cloud/aws.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	rows, err := measure(ctx)
	stop()
	fmt.Fprint(os.Stdout, table(rows))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, r := range rows {
		if !r.Met {
			os.Exit(1)
		}
	}
}

// table returns the rows as Markdown.
func table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| what happens | allowed | seen |\n|---|---|---|\n")
	for _, r := range rows {
		seen := r.Seen
		if !r.Met {
			seen = "**" + seen + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.What, r.Limit, seen)
	}
	return b.String()
}
