package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

const (
	suiteModule  = "sigs.k8s.io/gateway-api/conformance"
	defaultSuite = "1.6"
)

// suite is a version of the suite that can be run.
type suite struct {
	// modfile is the file that pins it, in place of the go.mod of the suite's module, or empty.
	modfile string
	// echo is the package of its echo server.
	echo string
	// toolchain is the version of Go that it needs where that is newer than the one of
	// Fairlead, or empty.
	toolchain string
	// ownCRDs is true if it is for newer CRDs than Fairlead brings.
	ownCRDs bool
}

// suites are those that can be run, by the versions of the Gateway API.
var suites = map[string]suite{
	defaultSuite: {echo: suiteModule + "/echo-basic"},
	"1.7":        {modfile: "go17.mod", echo: "sigs.k8s.io/gateway-api-conformance-images/echo-basic", toolchain: "go1.27.3", ownCRDs: true},
}

// parts are what is built for a run.
type parts struct {
	version string // of the suite
	suite   string // the test program
	images  []string
	crds    string // folder of the CRDs, if they are not those that Fairlead brings
}

// compiler runs the go command in the folder of a module.
type compiler struct{ dir, modfile, toolchain string }

// moduleOf returns the version of a module that this one names, and its folder. It fetches the module: go list has no folder for
// one that was never used.
func (c compiler) moduleOf(ctx context.Context, module string) (version, folder string, err error) {
	if _, err := c.run(ctx, "mod", "download", module); err != nil {
		return "", "", err
	}
	out, err := c.run(ctx, "list", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	version, folder, _ = strings.Cut(strings.TrimSpace(out), " ")
	return version, folder, err
}

// build compiles the suite and makes images of all names that its manifests use.
func build(ctx context.Context, b *toolset.Builder, root string, o options) (parts, error) {
	module := compiler{filepath.Join(root, "test/conformance/suite"), o.suite.modfile, o.suite.toolchain}
	version, source, err := module.moduleOf(ctx, suiteModule)
	if err != nil {
		return parts{}, err
	}
	p := parts{version: version, suite: filepath.Join(b.Dir(), "bin", "gateway-conformance")}
	if o.channel == experimental || o.suite.ownCRDs {
		of := compiler{dir: root}
		if o.suite.ownCRDs {
			of = module
		}
		_, api, err := of.moduleOf(ctx, "sigs.k8s.io/gateway-api")
		if err != nil {
			return parts{}, err
		}
		p.crds = filepath.Join(api, "config/crd", o.channel)
	}
	b.Progress("suite %s: compile (three minutes the first time)", version)
	if _, err := module.run(ctx, "test", "-c", "-trimpath", "-o", p.suite, "."); err != nil {
		return parts{}, err
	}
	echo := filepath.Join(b.Dir(), "images", "bin", "echo-basic")
	if _, err := module.run(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", echo, o.suite.echo); err != nil {
		return parts{}, err
	}
	names, err := imageNames(os.DirFS(source))
	if err != nil {
		return parts{}, err
	}
	b.Progress("CoreDNS, which a test of UDPRoutes asks: compile (a minute the first time)")
	nameServer := filepath.Join(b.Dir(), "images", "bin", "coredns")
	if _, err := (compiler{dir: filepath.Join(root, "test/conformance/coredns")}).run(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", nameServer, "."); err != nil {
		return parts{}, err
	}
	stand := map[string]string{"echo-basic": echo, "coredns/coredns": nameServer}
	return p, p.pack(b, names, stand)
}

// pack writes an archive for each program that stands in for images.
func (p *parts) pack(b *toolset.Builder, names []string, stand map[string]string) error {
	of := map[string][]string{}
	for _, name := range names {
		program := ""
		for part, path := range stand {
			if strings.Contains(name, "/"+part+":") {
				program = path
			}
		}
		if program == "" {
			return fmt.Errorf("the suite's manifests name the image %s, for which there is no program", name)
		}
		of[program] = append(of[program], name)
	}
	for program, names := range of {
		file := filepath.Join(b.Dir(), "conformance-"+filepath.Base(program)+".tar")
		if err := archive.Program(file, program, names); err != nil {
			return err
		}
		b.Progress("image of %s: %s", filepath.Base(program), strings.Join(names, ", "))
		p.images = append(p.images, file)
	}
	return nil
}

var imageLine = regexp.MustCompile(`(?m)^\s*(?:- )?image: (\S+)\s*$`)

// imageNames returns the images of the manifests that a suite without meshes applies.
func imageNames(source fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == "mesh" || path == "tests/mesh") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".yaml" {
			return nil
		}
		text, err := fs.ReadFile(source, path)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		for _, m := range imageLine.FindAllSubmatch(text, -1) {
			if name := strings.Trim(string(m[1]), `"'`); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no image in the suite's manifests")
	}
	slices.Sort(names)
	return names, err
}

func (c compiler) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "10", "go"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = slices.Concat(os.Environ(), toolset.CompilerEnv(), []string{"CGO_ENABLED=0", "GOWORK=off"})
	if c.modfile != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -modfile="+c.modfile)
	}
	if c.toolchain != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+c.toolchain) // comes as a module, once
	}
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out), nil
}
