package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/spelling"
)

// ownPrefix is that of annotations which no other router has.
const ownPrefix = "fairlead.dev/"

// Ours reports whether an annotation has a prefix of those that the router reads.
func Ours(key string) bool {
	return strings.HasPrefix(key, ownPrefix) || strings.HasPrefix(key, "haproxy.router.openshift.io/") || strings.HasPrefix(key, "router.openshift.io/")
}

// elsewhere are annotations with that prefix which objects may have, and which others
// read or write.
func elsewhere(key string) bool {
	return key == api.AnnotationCertificates || key == api.AnnotationIngressLabels || key == api.AnnotationFromIngress || key == api.AnnotationConvertedFrom
}

// unknown finds annotations with the router's own prefix that the table does not
// have. One that is nearly the name of one that protects was meant to keep requests
// out, so it closes.
func unknown(annotations map[string]string) []Problem {
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(key, ownPrefix) || elsewhere(key) || slices.ContainsFunc(table, func(a Annotation) bool { return a.Key == key }) {
			continue
		}
		near, protects := Nearest(key)
		switch {
		case protects:
			problems = append(problems, closing(key, "the router does not read this annotation, and "+near+", which protects, may be meant"))
		default:
			p := Problem{Key: key, Severity: api.SeverityWarning, Reason: api.ReasonUnknownAnnotation, Message: "the router does not read this annotation", Effect: "it has no effect"}
			if near != "" {
				p.Message += "; " + near + " may be meant"
			}
			problems = append(problems, p)
		}
	}
	return problems
}

// mostMisplaced bounds the annotations that Misplaced compares with the table, of which a tenant
// can write thousands.
const mostMisplaced = 32

// Misplaced returns what is wrong with annotations of an object of a kind that has none but
// the one that names a RoutePolicy: a user who knows Routes expects them to hold. One
// that protects Routes, or nearly has the name of one that does, closes.
func Misplaced(o model.Object, annotations map[string]string) (closings, unapplied []Closing) {
	if len(annotations) > mostMisplaced {
		return []Closing{{
			Key: o, Field: "metadata.annotations", Reason: api.ReasonPolicyClosed,
			Message: "there are more annotations of Routes here than are looked at: remove them",
		}}, nil
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if ofGateways(o.Kind, key) {
			continue
		}
		near, protects := Nearest(key)
		own := strings.HasPrefix(key, ownPrefix) && !elsewhere(key)
		c := Closing{Key: o, Field: field(key), Reason: api.ReasonPolicyClosed}
		switch {
		case near != key && !own:
		case protects && near == key:
			c.Message = "this annotation, which protects, is for Routes and Ingresses: put it into a RoutePolicy, and remove it here"
			closings = append(closings, c)
		case protects:
			c.Message = "the router does not read this annotation, and " + near + ", which protects, may be meant"
			closings = append(closings, c)
		default:
			c.Reason, c.Message, c.Effect = api.ReasonUnknownAnnotation, "this annotation is not for objects of this kind", "it has no effect"
			if meant := nearOfGateways(o.Kind, key); meant != "" {
				c.Message += "; " + meant + " may be meant"
			}
			unapplied = append(unapplied, c)
		}
	}
	return closings, unapplied
}

// gatewayAnnotations are those that objects of the Gateway API have, with their kinds.
var gatewayAnnotations = map[string][]model.Kind{
	gateway.AnnotationAddress: {"Gateway"}, gateway.AnnotationTakesOver: {"HTTPRoute"},
	api.AnnotationMetrics: {"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"}, api.AnnotationSLO: {"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"},
}

// ofGateways reports whether an annotation is one of objects of a kind.
func ofGateways(kind model.Kind, key string) bool {
	return slices.Contains(gatewayAnnotations[key], kind)
}

// nearOfGateways returns the annotation of objects of a kind that another one may be meant to be,
// or nothing.
func nearOfGateways(kind model.Kind, key string) string {
	for _, name := range slices.Sorted(maps.Keys(gatewayAnnotations)) {
		if ofGateways(kind, name) && spelling.Distance(key, name, misspelt+1) <= misspelt {
			return name
		}
	}
	return ""
}

// AddMisplaced takes in what Misplaced returned.
func (s *Selection) AddMisplaced(closings, unapplied []Closing) {
	s.closings, s.unapplied = append(s.closings, closings...), append(s.unapplied, unapplied...)
}

// misspelt is how many letters a name may be away from the one that is meant.
const misspelt = 2

// Nearest returns the annotation of the table that an unknown one may be meant to
// be, or an empty text, and whether it is one that protects. Of those that are near
// enough, one that protects goes first.
func Nearest(key string) (near string, protects bool) {
	least := misspelt + 1
	for i := range table {
		row := &table[i]
		d := spelling.Distance(key, row.Key, misspelt+1)
		better := (row.protects != nil) == protects && d < least || row.protects != nil && !protects
		if d <= misspelt && better {
			near, protects, least = row.Key, row.protects != nil, d
		}
	}
	return near, protects
}
