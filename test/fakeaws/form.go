package fakeaws

import (
	"net/url"
	"strconv"
	"strings"
)

// form reads the parameters of the Query protocols, whose structures are
// dotted: Tags.member.1.Key, or Filter.1.Name with EC2.
type form struct {
	values url.Values
	prefix string
}

func (f form) get(key string) string { return f.values.Get(f.prefix + key) }

func (f form) has(key string) bool { return f.values.Has(f.prefix + key) }

func (f form) number(key string) int {
	n, err := strconv.Atoi(f.get(key))
	if err != nil {
		return 0
	}
	return n
}

// elements returns the parts of a list of structures.
func (f form) elements(key string) []form {
	for _, between := range []string{".member.", "."} {
		var list []form
		for n := 1; ; n++ {
			element := form{f.values, f.prefix + key + between + strconv.Itoa(n) + "."}
			if !element.any() {
				break
			}
			list = append(list, element)
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func (f form) any() bool {
	for k := range f.values {
		if strings.HasPrefix(k, f.prefix) {
			return true
		}
	}
	return false
}

// list returns a list of plain values.
func (f form) list(key string) []string {
	for _, between := range []string{".member.", "."} {
		var list []string
		for n := 1; f.has(key + between + strconv.Itoa(n)); n++ {
			list = append(list, f.get(key+between+strconv.Itoa(n)))
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// pairs returns a list of Key and Value as a map.
func (f form) pairs(key string) map[string]string {
	all := map[string]string{}
	for _, e := range f.elements(key) {
		all[e.get("Key")] = e.get("Value")
	}
	return all
}

// flat returns the parameters as the journal shows them.
func (f form) flat() map[string]string {
	all := map[string]string{}
	for k := range f.values {
		if k != "Action" && k != "Version" {
			all[k] = f.values.Get(k)
		}
	}
	return all
}
