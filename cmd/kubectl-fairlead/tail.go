package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/tail"
	"github.com/fairlead/fairlead/router/observe/tail/cluster"
)

// tailFlags are those of the command itself.
type tailFlags struct {
	status, method, path, client, pod, sample string
	slow, length                              time.Duration
	most                                      int
	all                                       bool
}

const (
	// tailLength is the default of --for.
	tailLength = 10 * time.Minute
	// terminalLines is how many lines a second a terminal gets.
	terminalLines = 200
)

func (c *command) tailCommand() *cobra.Command {
	f := &tailFlags{}
	cmd := &cobra.Command{
		Use:   "tail OBJECT | -A",
		Short: "Each request of a Route, from all routers, as it ends",
		Long: `kubectl fairlead tail shows each request of a Route as it ends, from all replicas of a router: the client, the pod that
answered, how long each phase took, and in words why it failed. OBJECT is a Route as NAMESPACE/NAME or route/NAME, or
ingress/NAME, service/NAME, host/NAME, httproute/NAME, grpcroute/NAME, tlsroute/NAME or tcproute/NAME. Without OBJECT,
-n shows a namespace, and -A everything. Routers write nothing down before and after; they show neither queries, nor
headers, nor bodies.

It needs the ClusterRole fairlead-log-reader in namespace openshift-ingress.

Exit code: 0, or 2 for wrong arguments or if no replica could be asked.`,
		Example: `  kubectl fairlead tail web/cart --status 5xx
  kubectl fairlead tail host/www.example.com --slow 500ms --for 1h
  kubectl fairlead tail -n web --max 100 -o json | jq -r .path | sort | uniq -c`,
	}
	fs := cmd.Flags()
	fs.StringVar(&f.status, "status", "", "only answers of a `STATUS`, such as 503, or a class, such as 5xx")
	fs.DurationVar(&f.slow, "slow", 0, "only requests that took at least this `TIME`")
	fs.StringVar(&f.method, "method", "", "only requests with this `METHOD`")
	fs.StringVar(&f.path, "path", "", "only paths that begin with `PATH`")
	fs.StringVar(&f.client, "client", "", "only clients of an `ADDRESS` or network, such as 198.51.100.0/24")
	fs.StringVar(&f.pod, "pod", "", "only requests that went to this `POD`")
	fs.StringVar(&f.sample, "sample", "", "only one of so many requests, as `1/N`")
	fs.DurationVar(&f.length, "for", tailLength, "end after this `TIME`")
	fs.IntVar(&f.most, "max", 0, "end after this `NUMBER` of requests; 0 is no limit")
	fs.BoolVarP(&f.all, "all-namespaces", "A", false, "requests of all Routes, and those that no Route takes")
	o := c.addFlags(cmd)
	for _, name := range []string{"filename", "domain"} {
		fs.Lookup(name).Hidden = true // taken, but without effect here
	}
	cmd.ValidArgsFunction = c.completeObject(o, tailKinds())
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return o.arguments()(cmd, args[min(len(args), 1):])
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		filter, every, err := f.filter(args, o)
		if err != nil {
			return &usageError{err.Error()}
		}
		config, err := kubeconfig(o).ClientConfig()
		if err != nil {
			return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
		}
		if err := resolve(cmd.Context(), config, o, args, filter); err != nil {
			return err
		}
		return c.tail(cmd.Context(), config, o, &tailing{flags: f, filter: filter, every: every})
	}
	return cmd
}

// filter is what the flags say. It is checked as routers check it.
func (f *tailFlags) filter(args []string, o *options) (*observe.Filter, int, error) {
	switch {
	case len(o.files) > 0:
		return nil, 0, errors.New("tail reads a cluster, not manifests")
	case len(args) == 0 && o.namespace == "" && !f.all:
		return nil, 0, errors.New("name a Route as NAMESPACE/NAME, a namespace with -n, or -A for everything")
	case f.all && (len(args) > 0 || o.namespace != ""):
		return nil, 0, errors.New("-A is everything: name no object or namespace with it")
	case f.length <= 0 || f.most < 0:
		return nil, 0, errors.New("--for is a time such as 10m, and --max a number of requests, or 0")
	}
	every := 1
	if f.sample != "" {
		n, found := strings.CutPrefix(f.sample, "1/")
		var err error
		if every, err = strconv.Atoi(n); err != nil || !found || every < 1 {
			return nil, 0, fmt.Errorf("--sample %q is not 1/N, such as 1/10", f.sample)
		}
	}
	q := (&observe.Filter{Status: f.status, Slow: f.slow, Method: f.method, Path: f.path, Pod: f.pod}).Query()
	if f.client != "" {
		q.Set("client", f.client)
	}
	filter, err := observe.ParseFilter(q)
	return filter, every, err
}

// tailing is one run of the command.
type tailing struct {
	flags  *tailFlags
	filter *observe.Filter
	every  int

	routers []string
	order   tail.Order
	text    tail.Text
	// states are those of the routers' streams.
	states map[string]observe.Stream
	// came counts records, and shown lines.
	came, shown int
	// second is the one in which so many lines have been printed; unprinted are further ones.
	second           int64
	lines, unprinted int
}

// tail shows requests until the time is up, the user ends it, or all streams have ended.
func (c *command) tail(ctx context.Context, config *rest.Config, o *options, t *tailing) error {
	source, err := cluster.New(config, cmp.Or(o.router, api.DefaultIngressController))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.flags.length)
	defer cancel()
	events := make(chan cluster.Event, 1000)
	if t.routers, err = source.Follow(ctx, t.filter, events); err != nil {
		return err
	}
	t.states, t.text = map[string]observe.Stream{}, tail.Text{Zone: c.now.Location(), Hosts: len(t.filter.Targets) != 1 || t.filter.Targets[0].Name == ""}
	fmt.Fprintf(c.err, "requests of %s at %s, for at most %s; nothing of them is kept\n", t.what(), plural(len(t.routers), "router"), t.flags.length)
	if err := c.follow(ctx, o, t, events); err != nil {
		return err
	}
	if err := c.rest(o, t); err != nil {
		return err
	}
	fmt.Fprintln(c.err, t.summary())
	return nil
}

// rest shows what still waits for earlier requests.
func (c *command) rest(o *options, t *tailing) error {
	for _, s := range t.order.Rest() {
		if err := c.show(o, t, s); err != nil {
			return err
		}
	}
	return nil
}

// follow takes events until the context ends, enough is shown, or no stream is left.
func (c *command) follow(ctx context.Context, o *options, t *tailing, events <-chan cluster.Event) error {
	ticker := time.NewTicker(tail.Delay / 6)
	defer ticker.Stop()
	var ended error
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, more := <-events:
			if !more {
				return ended
			}
			if e.Err != nil {
				ended = fmt.Errorf("router %s: %w", e.Router, e.Err)
				fmt.Fprintf(c.err, "note: %v\n", ended)
			}
			c.take(t, &e)
		case now := <-ticker.C:
			if enough, err := c.due(o, t, now); enough || err != nil {
				return err
			}
		}
	}
}

// due shows what has waited long enough, and reports whether that is as much as is to be shown.
func (c *command) due(o *options, t *tailing, now time.Time) (enough bool, err error) {
	for _, s := range t.order.Due(now) {
		if err := c.show(o, t, s); err != nil {
			return false, err
		}
		if t.flags.most > 0 && t.shown >= t.flags.most {
			t.order.Rest()
			return true, nil
		}
	}
	return false, nil
}

// take takes an event in.
func (c *command) take(t *tailing, e *cluster.Event) {
	if s := e.Line.State; s != nil {
		if s.Problem != "" && s.Problem != t.states[e.Router].Problem {
			fmt.Fprintf(c.err, "note: router %s shows no requests: %s\n", e.Router, s.Problem)
		}
		t.states[e.Router] = *s
	}
	if r := e.Line.Record; r != nil {
		if t.came++; t.came%t.every == 0 {
			t.order.Add(tail.Shown{Router: e.Router, Record: *r}, time.Now())
		}
	}
}

// show prints a request. A terminal gets as many lines as a person may see at all.
func (c *command) show(o *options, t *tailing, s tail.Shown) error {
	if isTerminal(c.screen) {
		if now := time.Now().Unix(); now != t.second {
			t.second, t.lines = now, 0
		}
		if t.lines++; t.lines > terminalLines {
			t.unprinted++
			return nil
		}
	}
	t.shown++
	line := t.text.Line(s.Router, &s.Record)
	if o.output == "json" {
		text, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("write a request: %w", err)
		}
		line = string(text)
	}
	if _, err := fmt.Fprintln(c.out, line); err != nil {
		return fmt.Errorf("write a request: %w", err)
	}
	return nil
}

// what says what is shown.
func (t *tailing) what() string {
	var names []string
	for _, target := range t.filter.Targets {
		names = append(names, target.String())
	}
	return cmp.Or(strings.Join(names, ", "), "all Routes")
}

// summary is the last line. Streams end with the program, and so does what routers write.
func (t *tailing) summary() string {
	text := fmt.Sprintf("-- %s; %d requests shown", plural(len(t.routers), "router"), t.shown)
	if t.every > 1 {
		text += fmt.Sprintf(" of %d", t.came)
	}
	if t.unprinted > 0 {
		text += fmt.Sprintf(", %d more than a terminal gets in a second", t.unprinted)
	}
	var left, lost int64
	for _, s := range t.states {
		left, lost = left+s.Left, lost+s.Lost
	}
	if left > 0 {
		text += fmt.Sprintf(", %d left out by routers, which send 1,000 in a second", left)
	}
	if lost > 0 {
		return text + fmt.Sprintf(", %d lost", lost)
	}
	return text + ", none lost"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
