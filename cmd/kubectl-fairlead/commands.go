package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
)

func (c *command) explain(ctx context.Context, args []string) (int, error) {
	fs, o := c.flags("explain")
	var a explain.RequestArgs
	fs.StringArrayVarP(&a.Headers, "header", "H", nil, "")
	fs.StringVar(&a.SNI, "sni", "", "")
	fs.StringVar(&a.ClientIP, "client-ip", "", "")
	rest, err := parse(fs, o, args, "a URL, such as https://www.example.com/", 1)
	if err != nil {
		return 0, err
	}
	a.URL, a.SNISet = rest[0], fs.Changed("sni")
	request, err := explain.ParseRequest(a)
	if err != nil {
		return 0, &usageError{err.Error(), "explain"}
	}
	w, err := c.world(ctx, o)
	if err != nil {
		return 0, err
	}
	e := w.Explain(request)
	return code(e.Served), c.write(e, o)
}

func (c *command) why(ctx context.Context, args []string) (int, error) {
	fs, o := c.flags("why")
	rest, err := parse(fs, o, args, "an object, such as route/shop", 1)
	if err != nil {
		return 0, err
	}
	kind, name, ok := strings.Cut(rest[0], "/")
	if !ok || name == "" {
		return 0, &usageError{fmt.Sprintf("%q names no object; write route/NAME, ingress/NAME or service/NAME", rest[0]), "why"}
	}
	if o.namespace, err = o.ownNamespace(); err != nil {
		return 0, err
	}
	w, err := c.world(ctx, o)
	if err != nil {
		return 0, err
	}
	answer, err := w.Why(kind, o.namespace, name)
	if err != nil {
		return 0, err
	}
	return code(answer.Served), c.write(answer, o)
}

func (c *command) lint(ctx context.Context, args []string) (int, error) {
	fs, o := c.flags("lint")
	if _, err := parse(fs, o, args, "", 0); err != nil {
		return 0, err
	}
	w, err := c.world(ctx, o)
	if err != nil {
		return 0, err
	}
	namespace := o.namespace
	if len(o.files) > 0 {
		namespace = "" // there, it only completes the manifests
	}
	l := w.Lint(namespace)
	return code(l.Errors == 0), c.write(l, o)
}

func (c *command) render(ctx context.Context, args []string) (int, error) {
	fs, o := c.flags("render")
	version, check := fs.String("haproxy", "3.4", ""), fs.Bool("check", false, "")
	if _, err := parse(fs, o, args, "", 0); err != nil {
		return 0, err
	}
	w, err := c.world(ctx, o)
	if err != nil {
		return 0, err
	}
	r, err := w.Render(*version)
	if err != nil {
		return 0, err
	}
	if !*check {
		return exitGood, c.write(r, o)
	}
	checked := r.Check()
	if len(checked.Faults) > 0 {
		return exitBad, c.write(checked, o)
	}
	return exitGood, c.write(checked, o)
}
