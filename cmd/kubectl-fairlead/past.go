package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/observe/tail/cluster"
	"github.com/fairlead/fairlead/router/render"
)

// explainPast answers what became of the request of an ID.
func (c *command) explainPast(cmd *cobra.Command, o *options, id string, gateway types.NamespacedName) error {
	switch {
	case len(o.files) > 0:
		return &usageError{"--id reads what routers keep, not manifests; leave -f out"}
	case len(id) > render.IDBytes:
		return &usageError{fmt.Sprintf("--id is longer than an ID can be: %d bytes", render.IDBytes)}
	}
	for _, name := range []string{"header", "sni", "method", "client-ip", "client-subject"} {
		if cmd.Flags().Changed(name) {
			return &usageError{"--id and --" + name + " cannot be given together: the request is known"}
		}
	}
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	router := cmp.Or(o.router, api.DefaultIngressController)
	source, err := cluster.New(config, router)
	if err != nil {
		return err
	}
	answers, err := source.Find(cmd.Context(), id)
	if err != nil {
		return err
	}
	p, err := newPast(id, router, answers, c.now)
	if err != nil {
		return err
	}
	if len(p.Requests) > 0 {
		c.today(cmd.Context(), o, p, gateway)
	}
	return c.finish(p, len(p.Requests) > 0, o)
}

// errNoneAnswers means that no router could be asked.
var errNoneAnswers = errors.New("no router answers")

// newPast puts the answers of all routers together.
func newPast(id, router string, answers []cluster.Answer, now time.Time) (*past, error) {
	p := &past{Schema: schemaPast, ID: id, Requests: []pastRequest{}, Routers: []pastRouter{}, router: router, now: now}
	var failed error
	for _, a := range answers {
		r := pastRouter{Router: a.Router}
		if a.Err != nil {
			failed = fmt.Errorf("router %s: %w", a.Router, a.Err)
			r.Problem = a.Err.Error()
			p.Notes = append(p.Notes, failed.Error())
		} else {
			r.Keeps, r.Kept, r.Since, r.LeftOut, r.Problem = a.Kept.On, a.Kept.Requests, a.Kept.Since, a.Kept.LeftOut, a.Kept.Problem
			if r.Problem != "" {
				p.Notes = append(p.Notes, fmt.Sprintf("router %s keeps nothing now: %s", a.Router, r.Problem))
			}
		}
		p.Routers = append(p.Routers, r)
		for _, record := range a.Kept.Found {
			p.Requests = append(p.Requests, pastRequest{Router: a.Router, Record: record})
		}
	}
	p.order()
	if failed != nil && len(p.Requests) == 0 && !p.asked() {
		return nil, fmt.Errorf("%w: %w", errNoneAnswers, failed)
	}
	return p, nil
}

// today adds what routers decide now about the same URL. What cannot be said is a note.
func (c *command) today(ctx context.Context, o *options, p *past, gateway types.NamespacedName) {
	snapshot, err := c.decide(ctx, o)
	if err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("what is decided now is not known: %v", err))
		return
	}
	for i := range p.Requests {
		r := &p.Requests[i]
		if err := r.decide(snapshot, gateway); err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("what is decided now about %s is not known: %v", r.url(), err))
		}
	}
}

// decide asks a snapshot about the request, at the address of a Gateway if one is named.
func (r *pastRequest) decide(snapshot *explain.Snapshot, gateway types.NamespacedName) error {
	args := explain.RequestArgs{URL: r.url(), Method: r.Method, ClientIP: r.Client}
	if r.TLS != "" && r.ServerName != "" {
		args.SNI, args.SNISet = r.ServerName, true
	}
	request, err := explain.ParseRequest(args)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if gateway.Name == "" {
		r.Today = snapshot.Explain(request)
		return nil
	}
	r.Today, err = snapshot.ExplainAt(request, gateway.Namespace, gateway.Name)
	return err
}
