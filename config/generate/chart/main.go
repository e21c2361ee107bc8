// Command chart makes the Helm chart of config/chart, config/default, config/console and config/monitoring, so that the chart
// installs what kustomize does. What differs by values is replaced in the objects.
//
//	go run ./config/generate/chart .tools/chart/fairlead
//	helm install fairlead .tools/chart/fairlead
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	version := flag.String("version", "", "`version` of the chart and of the images; the default is what Chart.yaml says")
	registry := flag.String("registry", "", "`registry` with path of the images; the default is what values.yaml says")
	digests := map[string]string{}
	flag.Func("digest", "`PROGRAM=sha256:…` of the image of a program, in place of the tag; may be repeated", func(text string) error {
		program, digest, found := strings.Cut(text, "=")
		if digests[program] = digest; !found {
			return errors.New("want PROGRAM=sha256:…")
		}
		return nil
	})
	flag.Parse()
	err := errors.New("give one folder for the chart, such as .tools/chart/fairlead")
	if flag.NArg() == 1 {
		err = run(*root, flag.Arg(0), images{version: *version, registry: *registry, digests: digests})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

const note = "{{- /* Made of config/default and config/console. Do not edit. */ -}}\n"

// run replaces the folder by the chart.
func run(root, to string, i images) error {
	texts := map[string]*bytes.Buffer{}
	for _, folder := range []string{"config/default", "config/console"} {
		all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, folder))
		if err != nil {
			return fmt.Errorf("build %s: %w", folder, err)
		}
		for _, r := range all.Resources() {
			if r.GetKind() == "Route" { // templates/console-serving.yaml has what takes its place
				continue
			}
			f := fileOf(r)
			text, err := template(r)
			if err != nil {
				return fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
			}
			if texts[f] == nil {
				texts[f] = bytes.NewBufferString(note)
			}
			texts[f].WriteString(text)
		}
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("replace the chart: %w", err)
	}
	if err := os.CopyFS(to, os.DirFS(filepath.Join(root, "config/chart"))); err != nil {
		return fmt.Errorf("copy what is written by hand: %w", err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(to, "templates", name), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write a template: %w", err)
		}
	}
	if err := monitoring(root, to); err != nil {
		return err
	}
	return i.set(to)
}

// images are what a release names otherwise than config/chart. Empty values change nothing.
type images struct {
	version, registry string
	digests           map[string]string // by the programs' names
}

// set gives the chart in the folder its version, and the images theirs.
func (i images) set(folder string) error {
	lines := map[string]string{}
	if i.version != "" {
		lines = map[string]string{"version: ": strings.TrimPrefix(i.version, "v"), "appVersion: ": i.version}
	}
	if err := replace(filepath.Join(folder, "Chart.yaml"), lines); err != nil {
		return err
	}
	lines = map[string]string{}
	if i.registry != "" {
		lines["  registry: "] = i.registry
	}
	if len(i.digests) > 0 {
		var all []string
		for _, program := range slices.Sorted(maps.Keys(i.digests)) {
			all = append(all, program+": "+i.digests[program])
		}
		lines["  digests: "] = "{" + strings.Join(all, ", ") + "}"
	}
	return replace(filepath.Join(folder, "values.yaml"), lines)
}

// monitoring adds the objects of config/monitoring, for clusters with the Prometheus operator.
func monitoring(root, to string) error {
	for _, name := range []string{"monitors.yaml", "alerts.yaml", "dashboards.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "config/monitoring", name))
		if err != nil {
			return fmt.Errorf("read what config/monitoring has: %w", err)
		}
		out := "{{- if .Values.monitoring.enabled }}\n---\n" + escape(string(text)) + "{{- end }}\n"
		if err := os.WriteFile(filepath.Join(to, "templates", "monitoring-"+name), []byte(note+out), 0o644); err != nil {
			return fmt.Errorf("write a template: %w", err)
		}
	}
	return nil
}

// replace puts values behind what lines of a file begin with. Each has to be there once.
func replace(file string, values map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("set values of the release: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	for begin, value := range values {
		found := 0
		for i, l := range lines {
			if strings.HasPrefix(l, begin) {
				lines[i], found = begin+value, found+1
			}
		}
		if found != 1 {
			return fmt.Errorf("set values of the release: %d lines of %s begin with %q", found, filepath.Base(file), begin)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return fmt.Errorf("set values of the release: %w", err)
	}
	return nil
}

// ofConsole reports whether an object is of config/console.
func ofConsole(r *resource.Resource) bool {
	const name = "fairlead-console"
	return r.GetName() == name || r.GetNamespace() == name
}

// fileOf returns the template that has an object.
func fileOf(r *resource.Resource) string {
	switch kind := r.GetKind(); {
	case ofConsole(r):
		return "console.yaml"
	case kind == "CustomResourceDefinition":
		return "crds.yaml"
	case kind == "Namespace":
		return "namespaces.yaml"
	case kind == "NetworkPolicy":
		return "network-policies.yaml"
	case strings.HasPrefix(kind, "ValidatingAdmission"), strings.HasPrefix(kind, "MutatingAdmission"):
		return "admission.yaml"
	case kind == "Deployment", kind == "PodDisruptionBudget":
		return "operator.yaml"
	case kind == "DaemonSet":
		return "speaker.yaml"
	}
	return "rbac.yaml"
}

// condition returns under which values an object is there; empty for always.
func condition(r *resource.Resource) string {
	switch kind := r.GetKind(); {
	case ofConsole(r): // with its NetworkPolicy, by which only routers say where a client is
		return `if .Values.console.enabled`
	case kind == "CustomResourceDefinition":
		return `if .Values.crds.install`
	case kind == "NetworkPolicy":
		return `if .Values.networkPolicies.enabled`
	case strings.HasPrefix(kind, "MutatingAdmission"):
		return `if include "fairlead.mutating" .`
	case kind == "DaemonSet", kind == "ServiceAccount" && r.GetName() == "speaker":
		return `if .Values.speaker.enabled`
	}
	return ""
}

// template returns an object as a document of a template.
func template(r *resource.Resource) (string, error) {
	if r.GetKind() == "CustomResourceDefinition" || r.GetKind() == "Namespace" {
		annotations := r.GetAnnotations()
		annotations["helm.sh/resource-policy"] = "keep" // what is in them is the users'
		if err := r.SetAnnotations(annotations); err != nil {
			return "", fmt.Errorf("keep it: %w", err)
		}
	}
	text, err := r.AsYAML()
	if err != nil {
		return "", fmt.Errorf("write it: %w", err)
	}
	out := insert(escape(string(text)), places(r))
	if out == "" {
		return "", fmt.Errorf("a place for a value is not there")
	}
	begin, end := "---\n", ""
	if c := condition(r); c != "" {
		begin, end = "{{- "+c+" }}\n---\n", "{{- end }}\n"
	}
	return begin + out + end, nil
}

// escape has Helm take text of the objects as it is.
func escape(text string) string {
	return strings.NewReplacer("{{", "{{ `{{` }}", "}}", "{{ `}}` }}").Replace(text)
}

// place is a line of an object, or the beginning of one, with what stands in its place.
type place struct{ line, template string }

// insert replaces lines. Each has to be there once, or the chart would install something
// else than its values say; then the result is empty.
func insert(text string, places []place) string {
	lines := strings.Split(text, "\n")
	for _, p := range places {
		at := -1
		for i, line := range lines {
			if strings.TrimSpace(line) != p.line {
				continue
			}
			if at >= 0 {
				return ""
			}
			at = i
		}
		if at < 0 {
			return ""
		}
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
		var with []string
		for l := range strings.SplitSeq(p.template, "\n") {
			if !strings.HasPrefix(l, "{{-") {
				l = indent + l
			}
			with = append(with, l)
		}
		lines = slices.Concat(lines[:at], with, lines[at+1:])
	}
	return strings.Join(lines, "\n")
}
