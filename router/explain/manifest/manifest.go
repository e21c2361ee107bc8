// Package manifest reads the manifests that explain works on. It is strict: a
// field that a kind does not have is a finding with the field's path, where
// kubectl would drop it in silence or refuse the file.
//
// It is pure; the command reads the files.
package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/explain"
)

// kind is one that plays a part.
type kind struct {
	apiVersion string
	clustered  bool
	create     func() metav1.Object
}

func kinds() map[string]kind {
	return map[string]kind{
		"Route":             {routev1.GroupVersion.String(), false, func() metav1.Object { return &routev1.Route{} }},
		"Ingress":           {networkingv1.SchemeGroupVersion.String(), false, func() metav1.Object { return &networkingv1.Ingress{} }},
		"IngressClass":      {networkingv1.SchemeGroupVersion.String(), true, func() metav1.Object { return &networkingv1.IngressClass{} }},
		"Service":           {"v1", false, func() metav1.Object { return &corev1.Service{} }},
		"Secret":            {"v1", false, func() metav1.Object { return &corev1.Secret{} }},
		"ConfigMap":         {"v1", false, func() metav1.Object { return &corev1.ConfigMap{} }},
		"Namespace":         {"v1", true, func() metav1.Object { return &corev1.Namespace{} }},
		"EndpointSlice":     {discoveryv1.SchemeGroupVersion.String(), false, func() metav1.Object { return &discoveryv1.EndpointSlice{} }},
		"IngressController": {operatorv1.GroupVersion.String(), false, func() metav1.Object { return &operatorv1.IngressController{} }},
		"RoutePolicy":       {v1alpha1.GroupVersion().String(), false, func() metav1.Object { return &v1alpha1.RoutePolicy{} }},

		"GatewayClass":     {gatewayv1.GroupVersion.String(), true, func() metav1.Object { return &gatewayv1.GatewayClass{} }},
		"Gateway":          {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.Gateway{} }},
		"ListenerSet":      {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.ListenerSet{} }},
		"HTTPRoute":        {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.HTTPRoute{} }},
		"GRPCRoute":        {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.GRPCRoute{} }},
		"TLSRoute":         {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.TLSRoute{} }},
		"TCPRoute":         {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.TCPRoute{} }},
		"UDPRoute":         {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.UDPRoute{} }},
		"ReferenceGrant":   {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.ReferenceGrant{} }},
		"BackendTLSPolicy": {gatewayv1.GroupVersion.String(), false, func() metav1.Object { return &gatewayv1.BackendTLSPolicy{} }},

		"ClusterRoutePolicy": {v1alpha1.GroupVersion().String(), true, func() metav1.Object { return &v1alpha1.ClusterRoutePolicy{} }},
	}
}

// Reader collects the objects of several files.
type Reader struct {
	// Namespace is that of manifests which name none; default "default".
	Namespace string
	objects   *explain.Objects
	seen      map[api.ObjectRef]bool
}

// NewReader returns a reader of manifests.
func NewReader(namespace string) *Reader {
	o := explain.NewObjects()
	o.Offline = true
	return &Reader{Namespace: namespace, objects: o, seen: map[api.ObjectRef]bool{}}
}

// Objects returns what has been read so far.
func (r *Reader) Objects() *explain.Objects { return r.objects }

// Read takes a file in: YAML with any number of documents, or JSON. What is
// wrong in it becomes a finding.
func (r *Reader) Read(file string, data []byte) {
	for _, m := range Parse(r.Namespace, file, data) {
		if m.Object != nil && r.seen[m.Ref] {
			m.find("", api.ReasonDuplicateObject, api.SeverityWarning, "is also in "+r.objects.Files[m.Ref], "this one counts")
		}
		for _, f := range m.Findings {
			r.objects.Problems = append(r.objects.Problems, explain.Problem{Finding: f, File: m.At})
		}
		if m.Object == nil {
			continue
		}
		r.seen[m.Ref] = true
		r.objects.Files[m.Ref] = m.At
		r.objects.Add(m.Object)
	}
}

// Manifest is one object of a file.
type Manifest struct {
	// At is where it stands, as "file:line".
	At string
	// Ref names the object, as far as it is known.
	Ref api.ObjectRef
	// Object is nil if the manifest cannot be read, or is of a kind that plays no
	// part; then Other is that kind.
	Object metav1.Object
	Other  string
	// Text is the manifest as JSON.
	Text []byte
	// Findings say what is wrong with it.
	Findings []api.Finding
}

// Parse returns the objects of a file: YAML with any number of documents, or JSON.
// Those that name no namespace get the given one, or "default".
func Parse(namespace, file string, data []byte) []Manifest {
	p := &parser{namespace: cmp.Or(namespace, metav1.NamespaceDefault), kinds: kinds()}
	for _, doc := range documents(data) {
		at := fmt.Sprintf("%s:%d", file, doc.line)
		data, err := yaml.YAMLToJSONStrict(doc.text)
		if err != nil {
			m := p.manifest(at, nil)
			m.undecodable(errors.New(inFile(err.Error(), doc.base)))
			continue
		}
		p.object(at, data)
	}
	return p.read
}

type parser struct {
	namespace string
	kinds     map[string]kind
	read      []Manifest
}

// manifest begins the next one; the pointer is good until the one after it.
func (p *parser) manifest(at string, text []byte) *Manifest {
	p.read = append(p.read, Manifest{At: at, Text: text})
	return &p.read[len(p.read)-1]
}

// document is one YAML document of a file.
type document struct {
	// line is that of the first content, base that of the text.
	line, base int
	text       []byte
}

// documents splits YAML at its "---" lines. The line is that of the first
// content.
func documents(data []byte) []document {
	var docs []document
	var text bytes.Buffer
	start, base, number := 0, 1, 0
	flush := func() {
		if start > 0 {
			docs = append(docs, document{start, base, bytes.Clone(text.Bytes())})
		}
		text.Reset()
		start, base = 0, number+1
	}
	for line := range bytes.Lines(data) {
		number++
		trimmed := bytes.TrimRight(line, " \t\r\n")
		if string(trimmed) == "---" || bytes.HasPrefix(line, []byte("--- ")) {
			flush()
			continue
		}
		if start == 0 && len(trimmed) > 0 && trimmed[0] != '#' {
			start = number
		}
		text.Write(line)
	}
	flush()
	return docs
}

// inFile counts the lines in a message of the YAML parser from the file's
// beginning.
func inFile(message string, base int) string {
	return yamlLine.ReplaceAllStringFunc(message, func(m string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(m, "line "))
		if err != nil {
			return m
		}
		return fmt.Sprintf("line %d", n+base-1)
	})
}

var yamlLine = regexp.MustCompile(`line [0-9]+`)

func (p *parser) object(at string, data []byte) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name, Namespace string
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		p.manifest(at, data).undecodable(fmt.Errorf("not a Kubernetes object: %w", err))
		return
	}
	if head.Kind == "List" || strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		for _, item := range head.Items {
			p.object(at, item)
		}
		return
	}
	m := p.manifest(at, data)
	k, known := p.kinds[head.Kind]
	if !known {
		m.Other = head.Kind
		return
	}
	m.Ref = api.ObjectRef{Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
	// Of the Gateway API the fields of all versions are those of v1.
	if gateways := strings.HasPrefix(head.APIVersion, gatewayv1.GroupName+"/") && strings.HasPrefix(k.apiVersion, gatewayv1.GroupName+"/"); !gateways && head.APIVersion != k.apiVersion {
		if group, _, _ := strings.Cut(k.apiVersion, "/"); strings.HasPrefix(head.APIVersion, group+"/") || head.APIVersion == "v1" || strings.HasPrefix(head.APIVersion, "extensions/") {
			m.undecodable(fmt.Errorf("apiVersion must be %s, it is %q", k.apiVersion, head.APIVersion))
		}
		m.Other = head.Kind // a kind of the same name in another group is not ours
		return
	}
	object := k.create()
	problems, err := kjson.UnmarshalStrict(data, object)
	if err != nil {
		m.undecodable(err)
		return
	}
	p.add(m, k, object, problems)
}

func (p *parser) add(m *Manifest, k kind, object metav1.Object, problems []error) {
	if k.clustered {
		object.SetNamespace("")
	} else if object.GetNamespace() == "" {
		object.SetNamespace(p.namespace)
	}
	m.Ref = explain.Ref(object)
	if object.GetName() == "" {
		m.undecodable(errors.New("metadata.name is missing"))
		return
	}
	if secret, ok := object.(*corev1.Secret); ok {
		completeSecret(secret)
	}
	m.Object = object
	for _, problem := range problems {
		field, message := fieldOf(problem)
		m.find(field, api.ReasonUnknownField, api.SeverityError, message, "kubectl refuses it, or the API server drops it")
	}
}

// completeSecret does what the API server does with stringData.
func completeSecret(s *corev1.Secret) {
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
}

// fieldOf splits `unknown field "spec.tls.foo"` into path and message.
func fieldOf(err error) (field, message string) {
	text := err.Error()
	before, rest, ok := strings.Cut(text, `"`)
	if !ok {
		return "", text
	}
	field, _, _ = strings.Cut(rest, `"`)
	return field, strings.TrimSpace(before)
}

func (m *Manifest) undecodable(err error) {
	m.find("", api.ReasonUndecodable, api.SeverityError, err.Error(), "the manifest is left out")
}

func (m *Manifest) find(field string, reason api.Reason, severity api.Severity, message, effect string) {
	m.Findings = append(m.Findings, api.Finding{Object: m.Ref, Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect})
}
