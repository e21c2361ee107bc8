// Package manifest reads the manifests that explain works on. It is strict: a
// field that a kind does not have is a finding with the field's path, where
// kubectl would drop it in silence or refuse the file.
//
// It is pure; the command reads the files.
package manifest

import (
	"bytes"
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
		"Namespace":         {"v1", true, func() metav1.Object { return &corev1.Namespace{} }},
		"EndpointSlice":     {discoveryv1.SchemeGroupVersion.String(), false, func() metav1.Object { return &discoveryv1.EndpointSlice{} }},
		"IngressController": {operatorv1.GroupVersion.String(), false, func() metav1.Object { return &operatorv1.IngressController{} }},
		"RoutePolicy":       {v1alpha1.GroupVersion().String(), false, func() metav1.Object { return &v1alpha1.RoutePolicy{} }},

		"ClusterRoutePolicy": {v1alpha1.GroupVersion().String(), true, func() metav1.Object { return &v1alpha1.ClusterRoutePolicy{} }},
	}
}

// Reader collects the objects of several files.
type Reader struct {
	// Namespace is that of manifests which name none; default "default".
	Namespace string
	objects   *explain.Objects
	kinds     map[string]kind
	seen      map[api.ObjectRef]bool
}

// NewReader returns a reader of manifests.
func NewReader(namespace string) *Reader {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	o := explain.NewObjects()
	o.Offline = true
	return &Reader{Namespace: namespace, objects: o, kinds: kinds(), seen: map[api.ObjectRef]bool{}}
}

// Objects returns what has been read so far.
func (r *Reader) Objects() *explain.Objects { return r.objects }

// Read takes a file in: YAML with any number of documents, or JSON. What is
// wrong in it becomes a finding.
func (r *Reader) Read(file string, data []byte) {
	for _, doc := range documents(data) {
		at := fmt.Sprintf("%s:%d", file, doc.line)
		data, err := yaml.YAMLToJSONStrict(doc.text)
		if err != nil {
			r.undecodable(at, api.ObjectRef{}, errors.New(inFile(err.Error(), doc.base)))
			continue
		}
		r.object(at, data)
	}
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

func (r *Reader) object(at string, data []byte) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name, Namespace string
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		r.undecodable(at, api.ObjectRef{}, fmt.Errorf("not a Kubernetes object: %w", err))
		return
	}
	if head.Kind == "List" || strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		for _, item := range head.Items {
			r.object(at, item)
		}
		return
	}
	k, known := r.kinds[head.Kind]
	if !known {
		return
	}
	ref := api.ObjectRef{Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
	if head.APIVersion != k.apiVersion {
		if group, _, _ := strings.Cut(k.apiVersion, "/"); strings.HasPrefix(head.APIVersion, group+"/") || head.APIVersion == "v1" || strings.HasPrefix(head.APIVersion, "extensions/") {
			r.undecodable(at, ref, fmt.Errorf("apiVersion must be %s, it is %q", k.apiVersion, head.APIVersion))
		}
		return // a kind of the same name in another group is not ours
	}
	object := k.create()
	problems, err := kjson.UnmarshalStrict(data, object)
	if err != nil {
		r.undecodable(at, ref, err)
		return
	}
	r.add(at, k, object, problems)
}

func (r *Reader) add(at string, k kind, object metav1.Object, problems []error) {
	if k.clustered {
		object.SetNamespace("")
	} else if object.GetNamespace() == "" {
		object.SetNamespace(r.Namespace)
	}
	ref := explain.Ref(object)
	if object.GetName() == "" {
		r.undecodable(at, ref, errors.New("metadata.name is missing"))
		return
	}
	if secret, ok := object.(*corev1.Secret); ok {
		completeSecret(secret)
	}
	if r.seen[ref] {
		r.find(at, ref, "", api.ReasonDuplicateObject, api.SeverityWarning, "is also in "+r.objects.Files[ref], "this one counts")
	}
	r.seen[ref] = true
	r.objects.Files[ref] = at
	for _, p := range problems {
		field, message := fieldOf(p)
		r.find(at, ref, field, api.ReasonUnknownField, api.SeverityError, message, "kubectl refuses it, or the API server drops it")
	}
	r.objects.Add(object)
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

func (r *Reader) undecodable(at string, ref api.ObjectRef, err error) {
	r.find(at, ref, "", api.ReasonUndecodable, api.SeverityError, err.Error(), "the manifest is left out")
}

func (r *Reader) find(at string, ref api.ObjectRef, field string, reason api.Reason, severity api.Severity, message, effect string) {
	f := api.Finding{Object: ref, Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect}
	r.objects.Problems = append(r.objects.Problems, explain.Problem{Finding: f, File: at})
}
