// Package config hands the kinds of the product, as the manifests have them, to
// programs that compare them with those of a cluster.
package config

import (
	"embed"
	"fmt"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The kustomizations beside them have no underscore in their names.
//
//go:embed crd/*_*.yaml lbprovider/crd/*_*.yaml
var kinds embed.FS

// Kinds returns the definitions of the kinds that config/default installs, by the
// folders and names of their files.
func Kinds() ([]apiextensionsv1.CustomResourceDefinition, error) {
	var all []apiextensionsv1.CustomResourceDefinition
	for _, folder := range []string{"crd", "lbprovider/crd"} {
		entries, err := kinds.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("read kinds: %w", err)
		}
		for _, entry := range entries {
			text, err := kinds.ReadFile(path.Join(folder, entry.Name()))
			if err != nil {
				return nil, fmt.Errorf("read kinds: %w", err)
			}
			var kind apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(text, &kind); err != nil {
				return nil, fmt.Errorf("read kind %s: %w", entry.Name(), err)
			}
			all = append(all, kind)
		}
	}
	return all, nil
}
