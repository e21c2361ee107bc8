package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/traffic/top"
	"github.com/fairlead/fairlead/router/traffic/top/cluster"
)

// topFlags are those of the command itself.
type topFlags struct {
	interval time.Duration
	sort     string
	limit    int
	reverse  bool
	once     bool
}

const (
	// leastInterval is what routers keep a reading for: more often there is nothing new.
	leastInterval = time.Second
	// pausesPerRead bounds what looking costs: reading all counters of 10,000 Routes takes
	// HAProxy a quarter of a second.
	pausesPerRead = 10
)

func (c *command) topCommand() *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Which Routes get how much, and how many errors, now",
		Long: `kubectl fairlead top shows requests, errors, connections and bytes per second by Route, added up over all replicas of
a router. On a terminal it goes on until Ctrl-C, otherwise it looks twice and ends.

It needs the Role fairlead-viewer in namespace openshift-ingress, or the right to read the Secret router-stats-NAME.

Exit code: 0, or 2 for wrong arguments or if no replica could be asked.`,
		Example: `  kubectl fairlead top
  kubectl fairlead top -n web --sort 5xx
  kubectl fairlead top --once --limit 5 -o json | jq '.routes[] | select(.errorPercent > 1)'`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().DurationVar(&f.interval, "interval", 2*time.Second, "`TIME` between two looks, at least 1s; it is longer where looking takes long")
	cmd.Flags().StringVar(&f.sort, "sort", "req", "`COLUMN` to sort by: "+strings.Join(top.Keys(), ", "))
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "the smallest first")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "`NUMBER` of Routes to show, 0 for all")
	cmd.Flags().BoolVar(&f.once, "once", false, "look twice, and end")
	o := c.addFlags(cmd)
	for _, name := range []string{"filename", "domain"} {
		cmd.Flags().Lookup(name).Hidden = true // taken, but without effect here
	}
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(top.Keys(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case len(o.files) > 0:
			return &usageError{"top reads a cluster, not manifests"}
		case f.interval < leastInterval:
			return &usageError{fmt.Sprintf("--interval %s is too short; it is at least %s", f.interval, leastInterval)}
		case !slices.Contains(top.Keys(), f.sort):
			return &usageError{fmt.Sprintf("--sort %q is unknown; use one of: %s", f.sort, strings.Join(top.Keys(), ", "))}
		case f.limit < 0:
			return &usageError{"--limit is a number of Routes, or 0 for all"}
		}
		config, err := kubeconfig(o).ClientConfig()
		if err != nil {
			return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
		}
		return c.top(cmd.Context(), config, o, f)
	}
	return cmd
}

// top looks until the user ends it, or twice.
func (c *command) top(ctx context.Context, config *rest.Config, o *options, f *topFlags) error {
	router := cmp.Or(o.router, api.DefaultIngressController)
	source, err := cluster.New(config, router)
	if err != nil {
		return err
	}
	live := !f.once && o.output == "text" && isTerminal(c.screen)
	before, _, took, err := read(ctx, source)
	if err != nil {
		return err
	}
	hosts := routeHosts(ctx, config, o.namespace)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(f.interval, pausesPerRead*took)):
		}
		after, unread, spent, err := read(ctx, source)
		if err != nil && ctx.Err() != nil {
			return nil // Ctrl-C
		}
		if err != nil {
			return err
		}
		view := f.view(before, after, hosts, o.namespace)
		view.Router, view.Unread = router, unread
		before, took = after, spent
		if !live {
			return c.finish(view, true, o)
		}
		if err := c.draw(view); err != nil {
			return err
		}
	}
}

// read reads all replicas, and says how long that took.
func read(ctx context.Context, source *cluster.Source) (map[string]*top.Reading, []string, time.Duration, error) {
	began := time.Now()
	readings, unread, err := source.Read(ctx)
	return readings, unread, time.Since(began), err
}

// draw puts a view in the place of the last one. What others have named goes through the
// filter for terminals; the two sequences do not.
func (c *command) draw(view *top.View) error {
	var text bytes.Buffer
	if err := view.Text(terminal.Writer(&text)); err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	return c.redraw(text.String())
}

// redraw puts a safe text in the place of what the terminal shows.
func (c *command) redraw(text string) error {
	const home, rest = "\x1b[H", "\x1b[J"
	lines := strings.ReplaceAll(text, "\n", "\x1b[K\n")
	if _, err := fmt.Fprint(c.screen, home, lines, rest); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// view compares two readings of all replicas that both have.
func (f *topFlags) view(before, after map[string]*top.Reading, hosts map[string]string, namespace string) *top.View {
	var pairs []top.Pair
	v := &top.View{Schema: top.Schema}
	for pod, now := range after {
		if was := before[pod]; was != nil {
			pairs = append(pairs, top.Pair{Before: was, After: now})
			v.Seconds = max(v.Seconds, now.At.Sub(was.At).Seconds())
		}
	}
	v.Routers = len(pairs)
	lines, total, rest := top.Rates(pairs)
	if namespace != "" {
		lines = slices.DeleteFunc(lines, func(l top.Line) bool { return l.Namespace != namespace })
		total, rest = top.Total(lines), nil
	}
	for i := range lines {
		lines[i].Host = hosts[lines[i].Namespace+"/"+lines[i].Route]
	}
	top.Sort(lines, f.sort, f.reverse)
	if f.limit > 0 && len(lines) > f.limit {
		v.Hidden = len(lines) - f.limit
		lines = lines[:f.limit]
	}
	v.Routes, v.Total, v.Rest = append([]top.Line{}, lines...), total, rest
	return v
}

// routeHosts returns hosts and paths of Routes, as far as they may be read.
func routeHosts(ctx context.Context, config *rest.Config, namespace string) map[string]string {
	scheme := runtime.NewScheme()
	if err := routev1.AddToScheme(scheme); err != nil {
		return nil
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil
	}
	var routes routev1.RouteList
	if err := reader.List(ctx, &routes, client.InNamespace(namespace)); err != nil {
		return nil // the column is empty
	}
	hosts := map[string]string{}
	for i := range routes.Items {
		r := &routes.Items[i]
		hosts[r.Namespace+"/"+r.Name] = r.Spec.Host + r.Spec.Path
	}
	return hosts
}
