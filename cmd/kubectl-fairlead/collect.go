package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/api/version"
	"github.com/fairlead/fairlead/check/bundle"
	"github.com/fairlead/fairlead/check/collect"
)

const (
	// leastSize leaves room for what is always there.
	leastSize = 1 << 20
	// mostSize is what a tracker of bugs may still take once it is compressed.
	mostSize = 4 << 30
)

// collectFlags are those of the command itself.
type collectFlags struct {
	out, size string
	timeout   time.Duration
	anonymise bool
}

func (c *command) collectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "One archive for a bug report, without keys and passwords",
		Long: `kubectl fairlead collect reads objects with their conditions, events, logs of Fairlead's pods, and what routers, speakers,
status and preflight say, into one .tar.gz file that only you can read.

It never reads Secrets and ConfigMaps. Keys of Routes, passwords, values of headers, variables and unknown annotations are left out.
With --anonymise hosts and namespaces are replaced, each always by the same name. Look through the archive before you give it away.

Exit code: 0 all was read, 1 something could not be read (the archive lists it, too), 2 wrong arguments or no archive could be made.`,
		Example: `  kubectl fairlead collect
  kubectl fairlead collect --anonymise --out /tmp/report.tar.gz
  kubectl fairlead collect -n shop --max-size 10M --timeout 30s
  tar tzf fairlead-collect-20261201T120000Z.tar.gz`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := &collectFlags{}
	cmd.Flags().StringVar(&f.out, "out", "", "`FILE` to write, which must not exist; default is fairlead-collect-TIME.tar.gz")
	cmd.Flags().BoolVar(&f.anonymise, "anonymise", false, "replace hosts and namespaces, and leave certificates out")
	cmd.Flags().StringVar(&f.size, "max-size", "100M", "`SIZE` of all files together before they are compressed, from 1Mi to 4Gi")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "`TIME` after which nothing more is read")
	o := c.addFlags(cmd)
	for _, name := range []string{"filename", "domain", "router"} {
		cmd.Flags().Lookup(name).Hidden = true // taken, but without effect here
	}
	cmd.Args = o.arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.collect(cmd.Context(), o, f) }
	return cmd
}

// bytes checks the arguments, and returns the size.
func (f *collectFlags) bytes(o *options) (int64, error) {
	size, err := resource.ParseQuantity(f.size)
	switch {
	case len(o.files) > 0:
		return 0, &usageError{"collect reads a cluster, not manifests"}
	case err != nil || size.Value() < leastSize || size.Value() > mostSize:
		return 0, &usageError{fmt.Sprintf("--max-size %q is no size from 1Mi to 4Gi, such as 100M", f.size)}
	case f.timeout <= 0:
		return 0, &usageError{fmt.Sprintf("--timeout %s is no time to read anything", f.timeout)}
	}
	return size.Value(), nil
}

func (c *command) collect(ctx context.Context, o *options, f *collectFlags) (err error) {
	size, err := f.bytes(o)
	if err != nil {
		return err
	}
	config, err := kubeconfig(o).ClientConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	own, err := o.ownNamespace()
	if err != nil {
		return err
	}
	began := time.Now()
	folder := "fairlead-collect-" + began.UTC().Format("20060102T150405Z")
	path := f.out
	if path == "" {
		path = folder + ".tar.gz"
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &usageError{fmt.Sprintf("--out %s is there already; nothing was written", path)}
	}
	if err != nil {
		return fmt.Errorf("make the archive: %w", err)
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the archive: %w", closed)
		}
		if err != nil {
			_ = os.Remove(path) // half an archive is of no use
		}
	}()
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	summary, err := collect.Bundle(limited, config, bundle.NewArchive(file, folder, size, began), collect.BundleOptions{
		Namespace: o.namespace, Own: own, Anonymise: f.anonymise, Version: version.Line(), Now: time.Now,
		Progress: func(step string) { fmt.Fprintf(c.err, "[%5.1fs] %s\n", time.Since(began).Seconds(), step) },
	})
	if err == nil {
		err = ctx.Err() // Ctrl-C: the archive would look as if all of it had been asked for
	}
	if err != nil {
		return err
	}
	fmt.Fprint(c.err, summary.Missing())
	if info, err := file.Stat(); err == nil {
		fmt.Fprintf(c.err, "[%5.1fs] %s has %d files, %.1f MB; look through it before you give it away\n", time.Since(began).Seconds(), terminal.Line(filepath.Base(path)), summary.Files, float64(info.Size())/1e6)
	}
	summary.File = path
	return c.finish(summary, summary.Complete(), o)
}
