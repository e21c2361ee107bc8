package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// kindOf returns apiVersion and kind of a converted object.
func kindOf(o metav1.Object) (version, kind string) {
	gateway := gatewayv1.GroupVersion.String()
	switch o.(type) {
	case *corev1.Secret:
		return "v1", "Secret"
	case *corev1.ConfigMap:
		return "v1", "ConfigMap"
	case *gatewayv1.ReferenceGrant:
		return gateway, "ReferenceGrant"
	case *gatewayv1.BackendTLSPolicy:
		return gateway, "BackendTLSPolicy"
	case *v1alpha1.RoutePolicy:
		return v1alpha1.GroupVersion().String(), "RoutePolicy"
	case *gatewayv1.Gateway:
		return gateway, kindGateway
	case *gatewayv1.ListenerSet:
		return gateway, kindListenerSet
	case *gatewayv1.HTTPRoute:
		return gateway, kindHTTPRoute
	case *gatewayv1.GRPCRoute:
		return gateway, kindGRPCRoute
	case *gatewayv1.TLSRoute:
		return gateway, kindTLSRoute
	}
	return "", fmt.Sprintf("%T", o)
}

// applied is the order in which objects are to be applied: what protects a route, or what
// it names, before the route.
var applied = []string{"Secret", "ConfigMap", "ReferenceGrant", "BackendTLSPolicy", "RoutePolicy", kindGateway, kindListenerSet, kindHTTPRoute, kindGRPCRoute, kindTLSRoute}

func orderOf(o metav1.Object) int {
	_, kind := kindOf(o)
	return slices.Index(applied, kind)
}

// manifest returns an object as a manifest has it: without status, and without what the API
// server adds.
func manifest(o metav1.Object) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.GetName(), err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("write %s: %w", o.GetName(), err)
	}
	fields["apiVersion"], fields["kind"] = kindOf(o)
	delete(fields, "status")
	if m, ok := fields["metadata"].(map[string]any); ok {
		delete(m, "creationTimestamp")
	}
	return fields, nil
}

// YAML writes the objects as documents of YAML. One with characters that a terminal must not
// be sent is written as JSON, where these can stand as escapes; each YAML parser reads it.
func (o *Output) YAML(w io.Writer) error {
	for i, object := range o.Objects {
		fields, err := manifest(object)
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(fields)
		if err == nil && bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == utf8.RuneError }) {
			text, err = json.Marshal(fields)
			text = append(text, '\n')
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", object.GetName(), err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("write the objects: %w", err)
		}
	}
	return nil
}

// JSON writes them as one List.
func (o *Output) JSON(w io.Writer) error {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}{"v1", "List", []map[string]any{}}
	for _, object := range o.Objects {
		fields, err := manifest(object)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, fields)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	return nil
}
