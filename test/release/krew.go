package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// plugin is the program that kubectl runs as "kubectl fairlead".
const plugin = "kubectl-fairlead"

// krewPlugin is a manifest as krew's index takes it (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
	Selector krewSelector `json:"selector"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// krew writes the manifest of the plug-in, with the sums of its archives.
func (r *release) krew() error {
	manifest := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "fairlead"},
		Spec: krewSpec{
			Version: r.version, Homepage: "https://github.com/fairlead/fairlead",
			ShortDescription: "Explain OpenShift Routes and Ingress on Fairlead",
			Description: "Says which Route and pods a request gets and why, what is wrong with manifests,\n" +
				"which certificates clients are shown, which node announces an address, and\nwhether the ingress of a cluster is healthy.\n",
		},
	}
	for _, t := range r.targets {
		if t.program != plugin {
			continue
		}
		file := r.name(t) + ".tar.gz"
		content, err := os.ReadFile(filepath.Join(r.to, file))
		if err != nil {
			return fmt.Errorf("sum an archive: %w", err)
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, krewPlatform{
			URI: r.download + "/" + r.version + "/" + file, SHA256: sumOf(content), Bin: t.binary(),
			Selector: krewSelector{MatchLabels: map[string]string{"os": t.os, "arch": t.arch}},
		})
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write the manifest of the plug-in: %w", err)
	}
	return r.file("fairlead.yaml", text)
}
