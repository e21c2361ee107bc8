package ingress

import (
	"cmp"
	"slices"
)

// Class says what becomes of an annotation of another controller.
type Class string

// The classes, as the reference shows them.
const (
	// ClassSame has an equivalent that means the same.
	ClassSame Class = "="
	// ClassNear has one that differs in what the reference says.
	ClassNear Class = "≈"
	// ClassNeedless needs none.
	ClassNeedless Class = "–"
	// ClassRefused has none, and the path is served without it.
	ClassRefused Class = "✗"
	// ClassCloses has none, or only for some values, and keeps clients away. The paths
	// answer 503 until it is removed.
	ClassCloses Class = "✗P"
)

// class follows from what the row does, so that both cannot disagree.
func (f *vendorAnnotation) class() Class {
	switch {
	case f.harmless:
		return ClassNeedless
	case f.carry == nil || f.becomes == "":
		if f.protects != nil {
			return ClassCloses
		}
		return ClassRefused
	case f.differs != "" || f.instead != "":
		return ClassNear
	}
	return ClassSame
}

// Foreign is one row of the tables, for documentation.
type Foreign struct {
	Prefix, Name string
	Class        Class
	// Becomes is the equivalent, or empty.
	Becomes string
	// Differs is what is not the same, or why there is no equivalent.
	Differs string
	// Closes says that the paths answer 503 where a value cannot be used.
	Closes bool
	// Host says that all paths of its hosts do then.
	Host bool
}

// ForeignPrefixes are those of the controllers whose annotations are known.
func ForeignPrefixes() []string { return []string{prefixNginx, prefixHAProxy, prefixHAProxy2} }

// ForeignAnnotations returns what becomes of each annotation of a controller, by name.
func ForeignAnnotations(prefix string) []Foreign {
	var list []Foreign
	for name, f := range vendorTable(prefix) {
		list = append(list, Foreign{
			Prefix: prefix, Name: name, Class: f.class(), Becomes: f.becomes, Differs: cmp.Or(f.differs, f.instead), Closes: f.protects != nil, Host: f.host,
		})
	}
	slices.SortFunc(list, func(a, b Foreign) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
