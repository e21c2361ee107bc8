package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// target is a program for one kind of machine.
type target struct{ program, os, arch string }

func (t target) String() string { return t.program + " for " + t.os + "/" + t.arch }

// targets are the programs that users run on their own machines. The others are in the images; fairlead keeps HAProxy
// running by means of Linux.
func targets() []target {
	return []target{
		{"fairlead", "linux", "amd64"},
		{"fairlead", "linux", "arm64"},
		{plugin, "linux", "amd64"},
		{plugin, "linux", "arm64"},
		{plugin, "darwin", "amd64"},
		{plugin, "darwin", "arm64"},
		{plugin, "windows", "amd64"},
		{plugin, "windows", "arm64"},
	}
}

// binary is the name of the program's file.
func (t target) binary() string {
	if t.os == "windows" {
		return t.program + ".exe"
	}
	return t.program
}

// name is what files of the target begin with.
func (r *release) name(t target) string {
	return strings.Join([]string{t.program, r.version, t.os, t.arch}, "_")
}

// program compiles a program, and packs it with its papers.
func (r *release) program(ctx context.Context, scratch string, t target) error {
	file := filepath.Join(scratch, r.name(t))
	if err := r.compile(ctx, t, file); err != nil {
		return err
	}
	bills, notices, err := archive.Papers(t.program, r.version, t.arch, file, r.time)
	if err != nil {
		return fmt.Errorf("list its parts: %w", err)
	}
	if err := r.bills(r.name(t), bills); err != nil {
		return err
	}
	return r.pack(r.name(t)+".tar.gz", func(w *packer) error {
		if err := w.copy("LICENSE", filepath.Join(r.root, "LICENSE"), 0o644); err != nil {
			return err
		}
		if err := w.write(t.program+".notices", notices, 0o644); err != nil {
			return err
		}
		return w.copy(t.binary(), file, 0o755)
	})
}

// bills writes the bill of materials of what has a name, in both forms.
func (r *release) bills(name string, bills archive.Bills) error {
	return errors.Join(r.file(name+".cdx.json", bills.CycloneDX), r.file(name+".spdx.json", bills.SPDX))
}

// compile leaves out all that depends on the machine and the folder.
func (r *release) compile(ctx context.Context, t target, file string) error {
	flags := "-s -w -buildid= -X github.com/fairlead/fairlead/api/version.release=" + r.version
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, "./cmd/"+t.program)
	cmd.Dir = r.root
	cmd.Env = slices.Concat(os.Environ(), toolset.CompilerEnv(), []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile: %w\n%s", err, out)
	}
	return nil
}
