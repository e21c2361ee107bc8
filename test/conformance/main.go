// Command conformance runs the official conformance suite of the Gateway API against Fairlead on a cluster of this machine,
// as root:
//
//	go run ./test/conformance                                    # all; the report goes to docs/gateway/reports
//	go run ./test/conformance -run HTTPRouteSimpleSameNamespace  # one test, on a cluster that stays for the next one
//
// It is done when it has printed what failed, and how often HAProxy was reloaded or refused a change meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only     string // one test, all if empty
	keep     bool   // the cluster stays
	name     string // of the cluster
	profiles string
	skip     string // tests that are left out, by commas
	features string // taken as claimed in place of what the class says, by commas
	version  string // of the product, for the report
	channel  string // of the CRDs
	suite    suite
}

// The channels of the CRDs.
const (
	standard     = "standard"
	experimental = "experimental"
)

func parse(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("conformance", flag.ContinueOnError)
	f.StringVar(&o.only, "run", "", "only this `test`, on a cluster that stays")
	f.BoolVar(&o.keep, "keep", false, "leave the cluster, and use one that was left")
	f.StringVar(&o.name, "cluster", "conformance", "`name` of the cluster")
	f.StringVar(&o.profiles, "profiles", "GATEWAY-HTTP,GATEWAY-GRPC,GATEWAY-TLS,GATEWAY-TCP,GATEWAY-UDP", "conformance `profiles`, by commas")
	f.StringVar(&o.skip, "skip", "", "`tests` to leave out, by commas")
	f.StringVar(&o.features, "features", "", "`features` to test in place of those that the GatewayClass claims, by commas; such a run writes no report for publication")
	f.StringVar(&o.version, "version", "v0.0.0-unreleased", "`version` of Fairlead in the report")
	of := f.String("suite", defaultSuite, "`version` of the suite: "+strings.Join(slices.Sorted(maps.Keys(suites)), " or ")+"; one newer than the CRDs that Fairlead brings installs its own")
	f.StringVar(&o.channel, "channel", standard, "`channel` of the CRDs: standard, which Fairlead brings, or experimental, which the module of the API does")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.channel != standard && o.channel != experimental {
		return o, fmt.Errorf("unknown channel %q; use one of: %s, %s", o.channel, standard, experimental)
	}
	var known bool
	if o.suite, known = suites[*of]; !known {
		return o, fmt.Errorf("unknown suite %q; use one of: %s", *of, strings.Join(slices.Sorted(maps.Keys(suites)), ", "))
	}
	o.keep = o.keep || o.only != ""
	return o, nil
}

// published reports whether the report of the run is one to show others.
func (o options) published() bool { return o.only == "" && o.skip == "" && o.features == "" }

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("a cluster of network namespaces needs root")
	}
	b, err := toolset.New(os.Stderr)
	if err != nil {
		return err
	}
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	parts, err := build(ctx, b, root, o)
	if err != nil {
		return err
	}
	bed, err := openBed(ctx, b, root, o, parts)
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() {
			if err := bed.Cluster.Down(context.WithoutCancel(ctx)); err != nil {
				fmt.Fprintln(os.Stderr, "conformance:", err)
			}
		}()
	}
	return bed.judge(ctx, o, parts, filepath.Join(root, "docs/gateway/reports"))
}

// judge runs the suite and says what came out of it.
func (b *bed) judge(ctx context.Context, o options, p parts, reports string) error {
	before, err := b.counts(ctx)
	if err != nil {
		return err
	}
	report := filepath.Join(filepath.Dir(p.suite), "conformance-report.yaml")
	if o.published() {
		report = filepath.Join(reports, fmt.Sprintf("%s-%s-default-report.yaml", o.channel, p.version))
	}
	results := newResults(os.Stdout)
	ended := b.suite(ctx, o, p, report, results)
	after, err := b.counts(ctx)
	if err != nil {
		return errors.Join(ended, err)
	}
	results.print(o.only == "")
	changed := after.since(before)
	fmt.Fprintf(os.Stdout, "\nHAProxy during the run: %s\n", changed)
	if o.published() {
		fmt.Fprintln(os.Stdout, "report:", report)
	}
	if b.kept {
		fmt.Fprintf(os.Stdout, "the cluster stays: go run ./test/cluster/cmd/fairlead-cluster --name %s down\n", b.Cluster.Name())
		return errors.Join(ended, changed.problem())
	}
	if ended != nil {
		fmt.Fprintln(os.Stdout, "logs of the cluster's programs:", b.Cluster.SaveLogs())
	}
	return errors.Join(ended, changed.problem())
}
