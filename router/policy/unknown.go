package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/spelling"
)

// ownPrefix is that of annotations which no other router has.
const ownPrefix = "fairlead.dev/"

// elsewhere are annotations with that prefix which Routes and Ingresses may have,
// and which the operator reads.
func elsewhere(key string) bool {
	return key == api.AnnotationCertificates || key == api.AnnotationIngressLabels || key == api.AnnotationFromIngress
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
