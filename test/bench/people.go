package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	// fewRoutes and saves are for files that are saved one after the other.
	fewRoutes, saves = 10, 200
	// inFile is how many routes are in each file where there are many.
	inFile = 100
	// looks is how often a command runs that takes long.
	looks = 5
	// calm is when a program has given back what its start needed.
	calm = 30 * time.Second
)

// people measures what people wait for: commands of the plug-in and pages of the console among all
// routes, and `fairlead serve`.
func (b *bench) people(ctx context.Context) error {
	programs := filepath.Join(b.dir, "programs")
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	b.progress("building the plug-in, fairlead and the console")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", programs+"/", "./cmd/kubectl-fairlead", "./cmd/fairlead", "./cmd/console")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w: %s", err, out)
	}
	plugin := filepath.Join(programs, "kubectl-fairlead")
	for _, measure := range []func() error{
		func() error { return b.commands(ctx, plugin) },
		func() error { return b.localConsole(ctx, plugin) },
		func() error { return b.clusterConsole(ctx, filepath.Join(programs, "console")) },
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	serve := &serving{program: filepath.Join(programs, "fairlead"), haproxy: b.rig.HAProxy}
	if err := b.savedFiles(ctx, serve); err != nil {
		return err
	}
	return b.manyFiles(ctx, serve)
}

// commands measures commands of the plug-in, which read all routes from the API server.
func (b *bench) commands(ctx context.Context, plugin string) error {
	change := filepath.Join(b.dir, "change.yaml")
	route := rig.Route("fill1")
	route.Spec.Path = "/other"
	if err := writeObjects(change, withKind(route)); err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		bound float64
		args  []string
	}{
		{"--help", 50, []string{"--help"}},
		{"status", 3000, []string{"status"}},
		{"explain", 3000, []string{"explain", "http://" + rig.Host("fill0") + "/"}},
		{"diff of one Route", 5000, []string{"diff", "-f", change}},
	} {
		var took []float64
		var out []byte
		for range looks {
			command := exec.CommandContext(ctx, plugin, c.args...)
			command.Env = append(os.Environ(), "KUBECONFIG="+b.rig.Kubeconfig())
			began := time.Now()
			var err error
			out, err = command.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1 is an answer
				return fmt.Errorf("kubectl fairlead %s: %w: %s", c.name, err, out)
			}
			took = append(took, report.Milliseconds(time.Since(began)))
		}
		b.report.Require("kubectl fairlead "+c.name, slices.Max(took), "ms", report.AtMost(c.bound), fmt.Sprintf("the longest of %.3g, %d bytes of text", took, len(out)))
	}
	return nil
}

// savedFiles measures how long it takes from a saved file to the first answer.
func (b *bench) savedFiles(ctx context.Context, s *serving) error {
	dir := filepath.Join(b.dir, "few")
	if err := writeRoutes(dir, fewRoutes, fewRoutes); err != nil {
		return err
	}
	b.progress("saving one of %d routes %d times", fewRoutes, saves)
	if _, err := s.start(ctx, dir, filepath.Join(b.dir, "w", "few")); err != nil {
		return err
	}
	defer s.stop()
	probe := rig.NewProbeAt(servePorts.HTTP, false)
	defer probe.Close()
	var took []float64
	for i := range saves {
		route := rig.Route("saved")
		route.Spec.To.Name = "file0"
		route.Spec.Host = rig.Host(fmt.Sprintf("saved%d", i))
		began := time.Now()
		if err := writeObjects(filepath.Join(dir, "saved.yaml"), withKind(route)); err != nil {
			return err
		}
		err := rig.Until(sampleLimit, "the saved file is served", func() (bool, error) {
			a, err := probe.Get(route.Spec.Host, "/")
			return a.Status == http.StatusOK, err
		})
		if err != nil {
			return err
		}
		took = append(took, report.Milliseconds(time.Since(began)))
	}
	slices.Sort(took)
	b.report.Require("serve: saved file to served, p50", median(took), "ms", report.AtMost(70), "with --settle 50ms")
	b.report.Require("the same, p99", took[len(took)*99/100], "ms", report.AtMost(200), "")
	if err := pause(ctx, calm); err != nil {
		return err
	}
	b.report.Require("serve: memory", report.Megabytes(rig.UsageOf(s.command.Process.Pid).Memory), "MB", report.AtMost(30), fmt.Sprintf("resident, %d routes, without HAProxy", fewRoutes))
	return nil
}

// manyFiles measures a start with all routes in files.
func (b *bench) manyFiles(ctx context.Context, s *serving) error {
	dir := filepath.Join(b.dir, "many")
	if err := writeRoutes(dir, b.routes, inFile); err != nil {
		return err
	}
	b.progress("serving %d routes from files, %d times", b.routes, coldStarts)
	var took []float64
	memory := 0.0
	for i := range coldStarts {
		d, err := s.start(ctx, dir, filepath.Join(b.dir, "w", fmt.Sprintf("many%d", i)))
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
		if i == 0 {
			err = pause(ctx, calm)
			memory = report.Megabytes(rig.UsageOf(s.command.Process.Pid).Memory)
		}
		s.stop()
		if err != nil {
			return err
		}
	}
	b.report.Require("serve: files to ready", median(took), "s", report.AtMost(5), fmt.Sprintf("%d routes, of %.3g s", b.routes, took))
	b.report.Require("serve: memory with many", memory, "MB", report.AtMost(150), fmt.Sprintf("resident, %d routes, without HAProxy", b.routes))
	return nil
}

// serving is a `fairlead serve`.
type serving struct {
	program, haproxy string
	command          *exec.Cmd
	out              bytes.Buffer
}

var servePorts = rig.Ports{HTTP: 8095, HTTPS: 8455, Stats: 1955}

// start serves a folder, and returns how long it took until the program said that all is served.
func (s *serving) start(ctx context.Context, dir, work string) (time.Duration, error) {
	s.out.Reset()
	s.command = exec.CommandContext(ctx, s.program, "serve", "-f", dir, "--work-dir", work, "--haproxy", s.haproxy, "--console", "0",
		"--http", fmt.Sprint(servePorts.HTTP), "--https", fmt.Sprint(servePorts.HTTPS), "--admin", fmt.Sprint(servePorts.Stats))
	s.command.Stdout, s.command.Stderr = &s.out, &s.out
	s.command.Cancel = func() error { return s.command.Process.Signal(os.Interrupt) }
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return 0, fmt.Errorf("start fairlead: %w", err)
	}
	err := wait.Poll{Limit: time.Minute}.Until(ctx, "all files are served", func() error {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz/ready", servePorts.Stats))
		if err != nil {
			return err
		}
		_ = answer.Body.Close() // only the status counts
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
	if err != nil {
		s.stop()
		return 0, fmt.Errorf("%w\n%s", err, s.out.String())
	}
	return time.Since(began), nil
}

func (s *serving) stop() {
	_ = s.command.Process.Signal(os.Interrupt) // it may have ended already
	_ = s.command.Wait()
}

// writeRoutes writes so many routes with their Services into a folder.
func writeRoutes(dir string, routes, each int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder of manifests: %w", err)
	}
	var objects []client.Object
	for i := range routes {
		name := fmt.Sprintf("file%d", i)
		service, slice := rig.Service(name, rig.Address(i))
		service.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
		slice.TypeMeta = metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}
		objects = append(objects, withKind(rig.Route(name)), service, slice)
		if (i+1)%each == 0 || i+1 == routes {
			if err := writeObjects(filepath.Join(dir, fmt.Sprintf("routes-%d.yaml", i/each)), objects...); err != nil {
				return err
			}
			objects = nil
		}
	}
	return nil
}

// withKind says what a Route is, which files have to.
func withKind(r *routev1.Route) *routev1.Route {
	r.TypeMeta = metav1.TypeMeta{APIVersion: "route.openshift.io/v1", Kind: "Route"}
	return r
}

// writeObjects writes a file as editors do: another one takes its place.
func writeObjects(path string, objects ...client.Object) error {
	var text bytes.Buffer
	for _, o := range objects {
		one, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	next := path + ".next"
	if err := os.WriteFile(next, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}
