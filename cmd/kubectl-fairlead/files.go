package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// readFiles reads manifests.
func (c *command) readFiles(o *options) (*explain.Objects, error) {
	r := manifest.NewReader(o.namespace)
	for _, path := range o.files {
		if path == "-" {
			data, err := io.ReadAll(c.in)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			r.Read("-", data)
			continue
		}
		if err := readPath(r, path); err != nil {
			return nil, err
		}
	}
	return r.Objects(), nil
}

// readPath reads a file, or all manifests of a folder.
func readPath(r *manifest.Reader, path string) error {
	found := 0
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case at != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)):
			return nil
		}
		data, err := os.ReadFile(at) //nolint:gosec // the user names the folder, and may follow links in it
		if err != nil {
			return err
		}
		found++
		r.Read(filepath.ToSlash(at), data)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read manifests: %w; -f takes a file, a folder or -", err)
	}
	if found == 0 {
		return fmt.Errorf("read manifests: folder %s has no file that ends in .yaml, .yml or .json", path)
	}
	return nil
}
