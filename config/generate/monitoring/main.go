// Command monitoring writes what is made of the metrics that the programs register: the reference page and
// the runbooks in docs/monitoring, and alerts and dashboards in config/monitoring.
//
// Run it by "make generate". Do not edit what it writes.
package main

//go:generate go run . -root ../../..

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead/fairlead/config/generate/monitoring/catalogue"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "generate monitoring:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	programs, err := catalogue.Programs()
	if err != nil {
		return err
	}
	page, err := reference(programs)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(root, "docs/monitoring/metrics.md"), page); err != nil {
		return err
	}
	if err := alerts(root); err != nil {
		return err
	}
	return grafana(root)
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
