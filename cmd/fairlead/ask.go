package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/filesource"
)

// answer is what explain, why and lint print: the same as the kubectl plug-in's, from
// files that are all there is.
type answer interface{ Text(io.Writer) error }

// asked is the command line of these.
type asked struct {
	paths          paths
	domain, router string
	subject        string
	demo           bool
}

// askFlags reads a command line whose subject, if it has one, may stand before the flags.
func askFlags(command string, args []string, out io.Writer) (*asked, error) {
	a := &asked{}
	fs := flag.NewFlagSet("fairlead "+command, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Var(&a.paths, "f", "file, folder or -; may be repeated")
	fs.StringVar(&a.domain, "domain", defaultDomain, "domain of Routes without host")
	fs.StringVar(&a.router, "router", api.DefaultIngressController, "name of the IngressController to be")
	fs.BoolVar(&a.demo, "demo", false, "as if the pods of `fairlead serve --demo` ran")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		a.subject, args = args[0], args[1:]
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, nil
	case err != nil:
		return nil, &exitError{exitUsage, errShown}
	}
	if a.subject == "" && fs.NArg() > 0 {
		a.subject = fs.Arg(0)
	}
	subjects := map[string]string{"explain": "a URL, such as http://hello.apps.localhost/", "why": "an object, such as route/demo/hello"}
	switch {
	case len(a.paths) == 0:
		return nil, &exitError{exitUsage, errors.New("no files given; name a file or a folder with -f")}
	case subjects[command] != "" && a.subject == "":
		return nil, &exitError{exitUsage, fmt.Errorf("fairlead %s needs %s", command, subjects[command])}
	}
	return a, nil
}

// ask runs explain, why or lint.
func ask(_ context.Context, command string, args []string, in io.Reader, out, errs io.Writer) error {
	a, err := askFlags(command, args, errs)
	if err != nil || a == nil {
		return err
	}
	o := filesource.Options{Paths: a.paths, Stdin: in, Router: a.router, Domain: a.domain}
	if a.demo {
		pods, err := demoManifests(nil)
		if err != nil {
			return err
		}
		o.Given = map[string][]byte{demoFile: pods}
	}
	source, err := filesource.New(o)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	snapshot, err := explain.NewSnapshot(source.Objects(), explain.Options{Router: a.router, Domain: a.domain, Now: time.Now()})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	result, good, err := a.answer(command, snapshot)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := result.Text(terminal.Writer(out)); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	if !good {
		return &exitError{exitBad, errShown}
	}
	return nil
}

func (a *asked) answer(command string, s *explain.Snapshot) (result answer, good bool, err error) {
	switch command {
	case "explain":
		request, err := explain.ParseRequest(explain.RequestArgs{URL: a.subject})
		if err != nil {
			return nil, false, err
		}
		e := s.Explain(request)
		return e, e.Served, nil
	case "why":
		parts := strings.Split(a.subject, "/")
		switch len(parts) {
		case 2: // of the namespace of manifests that name none, or of the cluster
			parts = []string{parts[0], "default", parts[1]}
		case 3:
		default:
			return nil, false, fmt.Errorf("%q is not an object: write route/NAMESPACE/NAME", a.subject)
		}
		y, err := s.Why(parts[0], parts[1], parts[2])
		return y, err == nil, err
	default:
		l := s.Lint("")
		return l, l.Errors == 0, nil
	}
}
