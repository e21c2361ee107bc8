package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// againstGit begins what diff's --against names a commit by.
const againstGit = "git:"

// readCommit reads the manifests that the paths of -f had in a commit. One that was not there
// has none. Files are read as git stores them: no filter, attribute or link has a part in it.
func (c *command) readCommit(ctx context.Context, o *options, ref string) (*explain.Objects, error) {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return nil, &usageError{fmt.Sprintf("--against git:%s names no commit; write git:main, git:HEAD~1 or the like", ref)}
	}
	r := manifest.NewReader(o.namespace)
	for _, path := range o.files {
		if path == "-" {
			return nil, &usageError{"--against git:REF compares files and folders of -f with what they were, not standard input"}
		}
		if err := readCommitted(ctx, r, ref, path); err != nil {
			return nil, fmt.Errorf("read %s of commit %s: %w", path, ref, err)
		}
	}
	return r.Objects(), nil
}

func readCommitted(ctx context.Context, r *manifest.Reader, ref, path string) error {
	folder, name := path, ""
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		folder, name = filepath.Split(path)
	}
	g := git{folder: filepath.Clean(folder)}
	commit, err := g.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return fmt.Errorf("git knows no such commit in the repository of %s: %w", g.folder, err)
	}
	list := []string{"ls-tree", "-r", "-z", strings.TrimSpace(string(commit))} // of the folder
	if name != "" {
		list = append(list, "--", name)
	}
	listed, err := g.run(ctx, nil, list...)
	if err != nil {
		return err
	}
	names, hashes := manifestsIn(string(listed), name)
	if len(names) == 0 {
		return nil
	}
	contents, err := g.run(ctx, strings.NewReader(strings.Join(hashes, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return err
	}
	for i, name := range names {
		var data []byte
		if data, contents, err = nextBlob(contents, hashes[i]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Read(filepath.ToSlash(filepath.Join(g.folder, name)), data)
	}
	return nil
}

// manifestsIn returns the files of a list of git, MODE TYPE HASH, a tab and the name each, that
// readPath would read.
func manifestsIn(listed, asked string) (names, hashes []string) {
	for entry := range strings.SplitSeq(listed, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		f := strings.Fields(about)
		switch {
		case len(f) != 3 || !strings.HasPrefix(f[0], "100"): // a link, or a commit of another repository
		case name == asked || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			names, hashes = append(names, name), append(hashes, f[2])
		}
	}
	return names, hashes
}

// nextBlob parts "HASH blob SIZE", a line's end, the content and another line's end from what
// follows.
func nextBlob(contents []byte, hash string) (data, rest []byte, err error) {
	head, rest, _ := bytes.Cut(contents, []byte("\n"))
	f := strings.Fields(string(head))
	if len(f) != 3 || f[0] != hash || f[1] != "blob" {
		return nil, nil, fmt.Errorf("git says %q", head)
	}
	size, err := strconv.Atoi(f[2])
	if err != nil || size < 0 || size >= len(rest) {
		return nil, nil, fmt.Errorf("git says %q, and has %d bytes", head, len(rest))
	}
	return rest[:size], rest[size+1:], nil
}

// git is the user's, in a folder.
type git struct{ folder string }

func (g git) run(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", g.folder}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	case err != nil && said.Len() > 0:
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("git %s: %s", args[0], line)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}
