package preflight

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxDepth bounds how deep schemas are compared; the API server takes no deeper ones of use.
const maxDepth = 64

// missing returns, never nil, the fields of a kind that another version of the kind would drop, with
// the served versions that it has not. Fields have the form of `kubectl explain`, with
// their version in front where the kind has several.
func missing(of, in *apiextensionsv1.CustomResourceDefinition) []string {
	found := map[string]bool{}
	for i := range of.Spec.Versions {
		v := &of.Spec.Versions[i]
		if !v.Served && !v.Storage {
			continue
		}
		other := versionOf(in, v.Name)
		if other == nil {
			found["version "+v.Name] = true
			continue
		}
		prefix := ""
		if len(of.Spec.Versions) > 1 {
			prefix = v.Name + " "
		}
		if v.Schema == nil || other.Schema == nil {
			continue
		}
		compare(v.Schema.OpenAPIV3Schema, other.Schema.OpenAPIV3Schema, nil, func(path []string) { found[prefix+strings.Join(path, ".")] = true })
	}
	return append([]string{}, sorted(found)...)
}

func versionOf(k *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range k.Spec.Versions {
		if v := &k.Spec.Versions[i]; v.Name == name && (v.Served || v.Storage) {
			return v
		}
	}
	return nil
}

// compare reports each field of one schema that the other drops. Of a field that is
// dropped, those below it are not reported.
func compare(of, in *apiextensionsv1.JSONSchemaProps, path []string, report func([]string)) {
	if of == nil || keepsAll(in) || len(path) > maxDepth {
		return
	}
	for name := range of.Properties {
		field := of.Properties[name]
		at := slices.Concat(path, []string{name})
		other, ok := in.Properties[name]
		switch {
		case ok:
			compare(&field, &other, at, report)
		case in.AdditionalProperties != nil && in.AdditionalProperties.Allows && in.AdditionalProperties.Schema == nil:
		case in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil:
			compare(&field, in.AdditionalProperties.Schema, at, report)
		case len(path) == 0 && (name == "apiVersion" || name == "kind" || name == "metadata"):
		default:
			report(at)
		}
	}
	if keepsAll(of) && !keepsAll(in) && len(of.Properties) == 0 {
		report(slices.Concat(path, []string{"*"}))
	}
	if of.Items != nil && of.Items.Schema != nil && in.Items != nil && in.Items.Schema != nil {
		compare(of.Items.Schema, in.Items.Schema, path, report)
	}
	if more, other := of.AdditionalProperties, in.AdditionalProperties; more != nil && more.Schema != nil && other != nil && other.Schema != nil {
		compare(more.Schema, other.Schema, slices.Concat(path, []string{"*"}), report)
	}
}

// keepsAll reports whether the API server keeps all fields below a schema.
func keepsAll(s *apiextensionsv1.JSONSchemaProps) bool {
	return s == nil || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}
