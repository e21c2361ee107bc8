package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	routev1 "github.com/openshift/api/route/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestEveryFieldIsInTheCRD: the API server drops a field that a CRD does not
// have. So each field of the Go types that the code reads and writes is in the
// CRD that we install.
func TestEveryFieldIsInTheCRD(t *testing.T) {
	t.Parallel()
	for target, object := range map[string]any{
		"crd/route.openshift.io_routes.yaml":                routev1.Route{},
		"crd/operator.openshift.io_ingresscontrollers.yaml": operatorv1.IngressController{},
		"crd/ingress.operator.openshift.io_dnsrecords.yaml": iov1.DNSRecord{},
		"required-hsts/config.openshift.io_ingresses.yaml":  configv1.Ingress{},
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("..", target))
			if err != nil {
				t.Fatal(err)
			}
			crd := apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(data, &crd); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(sources(), func(s source) bool { return s.target == target }) {
				t.Errorf("%s is not generated", target)
			}
			root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			for _, part := range []string{"Spec", "Status"} {
				field, _ := reflect.TypeOf(object).FieldByName(part)
				schema := root.Properties[strings.ToLower(part)]
				walk(t, strings.ToLower(part), field.Type, &schema)
			}
		})
	}
}

// walk compares the JSON fields of a Go type with a schema, all the way down.
func walk(t *testing.T, path string, of reflect.Type, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	open := schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
	switch of.Kind() {
	case reflect.Pointer:
		walk(t, path, of.Elem(), schema)
	case reflect.Slice:
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(t, path+"[]", of.Elem(), schema.Items.Schema)
		}
	case reflect.Map:
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			walk(t, path+"{}", of.Elem(), schema.AdditionalProperties.Schema)
		}
	case reflect.Struct:
		if open || opaque(of) {
			return
		}
		for field := range of.Fields() {
			name, embedded, ok := jsonName(field)
			switch {
			case !ok:
			case embedded:
				walk(t, path, field.Type, schema)
			default:
				inner, known := schema.Properties[name]
				if !known {
					t.Errorf("%s.%s is not in the CRD: the API server would drop it", path, name)
					continue
				}
				walk(t, path+"."+name, field.Type, &inner)
			}
		}
	default:
	}
}

// opaque types are written by code of their own, such as times.
func opaque(of reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return of.Implements(marshaler) || reflect.PointerTo(of).Implements(marshaler)
}

// jsonName returns the name of a field in JSON, whether it stands for the fields
// within it, and whether it is in JSON at all.
func jsonName(f reflect.StructField) (name string, embedded, ok bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || name == "-":
		return "", false, false
	case strings.Contains(options, "inline") || f.Anonymous && name == "":
		return "", true, true
	case name == "":
		return f.Name, false, true
	}
	return name, false, true
}
