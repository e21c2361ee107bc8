package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// compared fails unless a published release has the same files as one that was made again of its commit. It says which Debian packages
// are others, because images then cannot be equal.
func compared(published, again string, out io.Writer) error {
	want, err := readSums(published)
	if err != nil {
		return err
	}
	got, err := readSums(again)
	if err != nil {
		return err
	}
	var wrong []error
	for name, sum := range want {
		content, err := os.ReadFile(filepath.Join(published, name))
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: SHA256SUMS names it, and it cannot be read: %w", name, err))
		case sumOf(content) != sum:
			wrong = append(wrong, fmt.Errorf("%s: its sum is not that in SHA256SUMS", name))
		case got[name] == "":
			wrong = append(wrong, fmt.Errorf("%s: it is published, and the commit does not make it", name))
		case got[name] != sum:
			wrong = append(wrong, differs(published, again, name))
		}
	}
	for name := range got {
		if want[name] == "" {
			wrong = append(wrong, fmt.Errorf("%s: the commit makes it, and it is not published", name))
		}
	}
	if len(wrong) == 0 {
		fmt.Fprintf(out, "%d files are those that the commit makes\n", len(want))
		return nil
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

// differs says how a file differs.
func differs(published, again, name string) error {
	if !strings.HasSuffix(name, ".cdx.json") {
		return fmt.Errorf("%s: the commit makes another", name)
	}
	var parts [2]map[string]bool
	for i, folder := range []string{published, again} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(content), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			return fmt.Errorf("%s: it is no bill of materials: %w", name, err)
		}
		if bom.Components == nil {
			return fmt.Errorf("%s: it is a bill of materials without parts", name)
		}
		parts[i] = map[string]bool{}
		for _, c := range *bom.Components {
			parts[i][c.PackageURL] = true
		}
	}
	var others []string
	for _, way := range []struct {
		sign      string
		has, lack map[string]bool
	}{{"-", parts[0], parts[1]}, {"+", parts[1], parts[0]}} {
		for url := range way.has {
			if !way.lack[url] {
				others = append(others, way.sign+url)
			}
		}
	}
	slices.Sort(others)
	return fmt.Errorf("%s: made again, it has other parts (- published, + now), so that images and what names their digests differ, too: %s", name, strings.Join(others, " "))
}

// readSums reads SHA256SUMS of a folder: sums by names.
func readSums(folder string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		return nil, fmt.Errorf("read the sums of a release: %w", err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !found || len(sum) != 64 || name == "" || strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("read the sums of a release: %q is no line of them", line)
		}
		sums[name] = sum
	}
	return sums, nil
}
