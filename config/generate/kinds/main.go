// Command kinds writes docs/lb/reference.md: the fields of the address kinds,
// as their definitions describe them.
//
// Run it by "make generate". Nobody edits the page.
package main

//go:generate go run . -crds ../../lbprovider/crd -out ../../../docs/lb/reference.md

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const head = `<!-- Generated from the definitions in config/lbprovider/crd. Do not edit; run "make generate". -->
# Address kinds: reference

All are namespaced and live in ` + "`metallb-system`" + `. The first six are written by you, the others by Fairlead. A field without a
default is empty.

`

// order returns the files of the kinds: what users write comes first.
func order() []string {
	return []string{
		"metallb.io_ipaddresspools", "metallb.io_l2advertisements", "metallb.io_bgpadvertisements", "metallb.io_bgppeers",
		"metallb.io_bfdprofiles", "metallb.io_communities", "fairlead.dev_addressusages", "metallb.io_servicel2statuses",
		"metallb.io_servicebgpstatuses", "metallb.io_bgpsessionstates", "metallb.io_configurationstates",
	}
}

func main() {
	crds := flag.String("crds", "config/lbprovider/crd", "folder of the definitions")
	out := flag.String("out", "docs/lb/reference.md", "the page")
	flag.Parse()
	if err := run(*crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate reference of kinds:", err)
		os.Exit(1)
	}
}

func run(crds, out string) error {
	var b strings.Builder
	b.WriteString(head)
	for i, name := range order() {
		text, err := os.ReadFile(filepath.Join(crds, name+".yaml"))
		if err != nil {
			return fmt.Errorf("read definition: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if i > 0 {
			b.WriteString("\n")
		}
		page(&b, &crd)
	}
	if err := os.WriteFile(out, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// page writes one kind, in the version that is stored.
func page(b *strings.Builder, crd *apiextensionsv1.CustomResourceDefinition) {
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	version := &crd.Spec.Versions[at]
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(b, "## %s\n\n`%s/%s`. %s\n\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name, oneLine(schema.Description))
	b.WriteString("| field | type | default | meaning |\n|---|---|---|---|\n")
	for _, name := range names(schema) {
		if name == "apiVersion" || name == "kind" || name == "metadata" {
			continue
		}
		part := schema.Properties[name]
		if name == "spec" || name == "status" {
			fields(b, name+".", &part)
			continue
		}
		row(b, name, &part)
	}
}

func fields(b *strings.Builder, path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range names(s) {
		part := s.Properties[name]
		row(b, path+name, &part)
	}
	for _, rule := range s.XValidations {
		fmt.Fprintf(b, "| | | | %s |\n", cell(rule.Message))
	}
}

// row writes a field, and those within, unless they are a standard type's.
func row(b *strings.Builder, path string, s *apiextensionsv1.JSONSchemaProps) {
	kind, inner := s.Type, s
	if s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		inner = s.Items.Schema
		kind, path = "list of "+inner.Type, path+"[]"
	}
	if inner.Type == "object" && inner.Properties["matchLabels"].Type != "" {
		kind, inner = strings.Replace(kind, "object", "label selector", 1), &apiextensionsv1.JSONSchemaProps{}
	}
	if strings.HasSuffix(path, "conditions[]") {
		kind, inner = "list of conditions", &apiextensionsv1.JSONSchemaProps{}
	}
	byDefault := ""
	if s.Default != nil {
		byDefault = "`" + string(s.Default.Raw) + "`"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, kind, byDefault, cell(meaning(s)))
	if inner.Type == "object" {
		fields(b, path+".", inner)
	}
}

// meaning is the description, the bounds and what the rules say.
func meaning(s *apiextensionsv1.JSONSchemaProps) string {
	parts := []string{oneLine(s.Description)}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("%.0f to %.0f.", *s.Minimum, *s.Maximum))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, string(v.Raw))
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	for _, rule := range s.XValidations {
		text := strings.TrimSuffix(rule.Message, ".")
		parts = append(parts, strings.ToUpper(text[:1])+text[1:]+".")
	}
	return strings.Join(parts, " ")
}

func names(s *apiextensionsv1.JSONSchemaProps) []string {
	all := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
