// Command reference writes the pages of docs/routes that are made from code:
// the annotations of Routes, those of other Ingress controllers, and the reasons of
// findings.
//
// Run it by "make generate". Nobody edits the pages.
package main

//go:generate go run . -api ../../../api -out ../../../docs/routes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	source := flag.String("api", "api", "folder of package api, which declares the reasons")
	out := flag.String("out", "docs/routes", "folder for the pages")
	flag.Parse()
	if err := run(*source, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate reference pages:", err)
		os.Exit(1)
	}
}

func run(source, out string) error {
	groups, err := readReasons(source)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"annotations.md": annotationPage(), "foreign-annotations.md": foreignPage(), "reasons.md": reasonPage(groups)} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}
