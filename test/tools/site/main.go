// Command site makes a website of the documentation: plain files that a browser shows without
// a server, and that ask for nothing outside their folder.
//
//	go run ./test/tools/site -out .tools/site
//
// Each page is at its place in the repository, with .html for .md. Links between pages, to
// headings and to files of the repository are checked while it is made: one that leads nowhere
// is an error. HTML in a page is an error, too, except comments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	out := flags.String("out", filepath.Join(".tools", "site"), "`FOLDER` of the site; what it has from an earlier run is removed")
	from := flags.String("from", ".", "root of the repository")
	version := flags.String("version", "", "the version that the pages name; default is what git describes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" {
		*version = described(ctx, *from)
	}
	began := time.Now()
	if err := remove(*out); err != nil {
		return err
	}
	s, err := build(*from, *out, *version)
	if err != nil {
		return err
	}
	index, err := filepath.Abs(filepath.Join(*out, "index.html"))
	if err != nil {
		return fmt.Errorf("find the site: %w", err)
	}
	fmt.Printf("%d pages, %d entries to search, %.1f s: file://%s\n", len(s.pages), len(s.entries), time.Since(began).Seconds(), index)
	return nil
}

// mark is a file in the folder of a site, so that no other folder is removed.
const mark = "search-index.js"

// remove removes a site.
func remove(folder string) error {
	files, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(files) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("look into the folder of the site: %w", err)
	}
	if _, err := os.Stat(filepath.Join(folder, mark)); err != nil {
		return fmt.Errorf("%s has files, but no site: name another folder, or empty it", folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the site of an earlier run: %w", err)
	}
	return nil
}

// described is the version of the tree.
func described(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
