package match

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// A key to which claims with conditions lead has a list in place of a value
// (docs/decisions/guarded-claims.md):
//
//	?LEVEL KEY;ENTRY…       without the blank
//	LEVEL                   e for a host, w for a wildcard host, a for any host
//	KEY                     how long the key is that the list was made for
//	ENTRY                   CONDITION+…>LENGTH:VALUE
//	CONDITION               SOURCE COMPARE:NAME:VALUE without the blank, both texts in
//	                        hexadecimal: me::474554, he:582d41:31, pr:2048:…; expressions
//	                        for values are followed by the longest: hr:582d41:…:2048
//
// The first entry decides whose conditions are all met; one without conditions is met.
// If none is, the next shorter key does, and after all keys of a host those of its
// wildcard host. templates/conditions.lua reads the same.
const listMark = "?"

// Sources of conditions, beside those of canaries, and the ways to compare.
const (
	sourceMethod = "m"
	sourcePath   = "p"
	equal        = "e"
	expression   = "r"
)

// IsList reports whether a value is a list.
func IsList(value string) bool { return strings.HasPrefix(value, listMark) }

// List is what a value of a key with conditions means.
type List struct {
	level   byte
	key     int
	Entries []ListEntry
}

// ListEntry is a value with the conditions for it, as they stand in the list.
type ListEntry struct{ Conditions, Value string }

// Asked is what conditions look at, beside host and path.
type Asked struct {
	Method string
	// Value returns what the request has of a name; nil if that is not known: then no
	// condition on headers or parameters is met.
	Value func(source model.CanarySource, name string) (string, bool)
}

// conditionsText writes conditions as a list has them.
func conditionsText(c *model.Conditions) string {
	if c == nil {
		return ""
	}
	var all []string
	add := func(source, compare, name, value string) {
		all = append(all, source+compare+":"+name+":"+hex.EncodeToString([]byte(value)))
	}
	if c.Method != "" {
		add(sourceMethod, equal, "", c.Method)
	}
	// Expressions come last, because they take the most.
	for _, patterned := range []bool{false, true} {
		for _, h := range c.Headers {
			h.Name = strings.ToLower(h.Name)
			if (h.Pattern != "") == patterned {
				all = append(all, valueText(model.CanaryHeader, h))
			}
		}
		for _, q := range c.Queries {
			if (q.Pattern != "") == patterned {
				all = append(all, valueText(model.CanaryQuery, q))
			}
		}
	}
	if c.Path != nil {
		add(sourcePath, expression, strconv.Itoa(c.Path.Longest), c.Path.Pattern)
	}
	return strings.Join(all, "+")
}

// valueText writes the condition on one header or parameter.
func valueText(source model.CanarySource, c model.Condition) string {
	compare, value, end := equal, c.Value, ""
	if c.Pattern != "" {
		compare, value, end = expression, c.Pattern, ":"+strconv.Itoa(c.Longest)
	}
	return string(source) + compare + ":" + hex.EncodeToString([]byte(c.Name)) + ":" + hex.EncodeToString([]byte(value)) + end
}

// ListSize returns how many bytes the entry of a claim takes in a list.
func ListSize(c *model.Conditions, value string) int {
	return len(conditionsText(c)) + len(value) + len(">12345:")
}

// newList returns a value with conditions as the list of a key.
func newList(host, key string, r *Rule) string {
	if r.Conditions == nil {
		return r.Value
	}
	l := List{level: 'e', key: len(key), Entries: []ListEntry{{conditionsText(r.Conditions), r.Value}}}
	switch _, name := model.SplitHost(host); {
	case name == Any:
		l.level = 'a'
	case strings.HasPrefix(name, "*."):
		l.level = 'w'
	}
	return l.String()
}

// String returns the text of a list.
func (l *List) String() string {
	var b strings.Builder
	b.WriteString(listMark + string(l.level) + strconv.Itoa(l.key) + ";")
	for _, e := range l.Entries {
		b.WriteString(e.Conditions + ">" + strconv.Itoa(len(e.Value)) + ":" + e.Value)
	}
	return b.String()
}

// ParseList reads a list. It reports false for every other text.
func ParseList(text string) (l List, ok bool) {
	if !IsList(text) {
		return List{}, false
	}
	head, rest, ok := strings.Cut(text, ";")
	if !ok || len(head) < 3 || !strings.ContainsRune("ewa", rune(head[1])) {
		return List{}, false
	}
	l.level = head[1]
	if l.key, ok = length(head[2:]); !ok {
		return List{}, false
	}
	for rest != "" {
		conditions, more, _ := strings.Cut(rest, ">")
		digits, more, found := strings.Cut(more, ":")
		n, isNumber := length(digits)
		if !found || !isNumber || n > len(more) {
			return List{}, false
		}
		l.Entries = append(l.Entries, ListEntry{conditions, more[:n]})
		rest = more[n:]
	}
	return l, len(l.Entries) > 0
}

func length(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == digits
}

// Values returns what a value may lead to: of a list the values of its entries.
func Values(value string) []string {
	l, ok := ParseList(value)
	if !ok {
		return []string{value}
	}
	out := make([]string, len(l.Entries))
	for i, e := range l.Entries {
		out[i] = e.Value
	}
	return out
}

// MapValue changes a value, or those of a list's entries.
func MapValue(value string, change func(string) string) string {
	l, ok := ParseList(value)
	if !ok {
		return change(value)
	}
	for i := range l.Entries {
		l.Entries[i].Value = change(l.Entries[i].Value)
	}
	return l.String()
}

// WithoutValues takes entries off a list, and returns "" if none is left. Another value
// stays or goes as a whole.
func WithoutValues(value string, drop func(string) bool) string {
	l, ok := ParseList(value)
	if !ok {
		if drop(value) {
			return ""
		}
		return value
	}
	if l.Entries = slices.DeleteFunc(l.Entries, func(e ListEntry) bool { return drop(e.Value) }); len(l.Entries) == 0 {
		return ""
	}
	return l.String()
}

// then returns the value of a key that two rules have: the second one is for what the
// first one does not decide.
func then(first, second string) string {
	l, ok := ParseList(first)
	if !ok || l.Entries[len(l.Entries)-1].Conditions == "" {
		return first
	}
	if more, ok := ParseList(second); ok {
		l.key, l.Entries = more.key, append(l.Entries, more.Entries...) // a shield goes on elsewhere
	} else {
		l.Entries = append(l.Entries, ListEntry{"", second})
	}
	return l.String()
}

// moved returns a value for another key: of a list, the key that it was made for is then
// longer. to says how long the beginning of the old key has become.
func moved(value string, to func(int) int) string {
	l, ok := ParseList(value)
	if !ok {
		return value
	}
	l.key = to(l.key)
	return l.String()
}

// choose returns the value of the longest key that begins the text and whose conditions
// are met. The path is what expressions are compared with.
func (t Table) choose(text, path string, a *Asked) string {
	value := t.lookup(text)
	for left := len(text); IsList(value); {
		l, ok := ParseList(value)
		if !ok || l.key == 0 || l.key > left {
			return Refuse // no list of ours
		}
		chosen, met := l.choose(path, a)
		if met {
			return chosen
		}
		left = l.key - 1
		value = t.lookup(text[:left])
	}
	return value
}

func (l *List) choose(path string, a *Asked) (value string, met bool) {
	for _, e := range l.Entries {
		all, instead := metBy(e.Conditions, path, a)
		if instead != "" {
			return instead, true
		}
		if all {
			return e.Value, true
		}
	}
	return "", false
}

// metBy reports whether all conditions of an entry are met, or what answers instead where a
// text is too long to say so.
func metBy(conditions, path string, a *Asked) (all bool, instead string) {
	if conditions == "" {
		return true, ""
	}
	for text := range strings.SplitSeq(conditions, "+") {
		f := strings.SplitN(text, ":", 4)
		if len(f) < 3 || len(f[0]) != 2 {
			return false, ""
		}
		value, err := hex.DecodeString(f[2])
		if err != nil {
			return false, ""
		}
		met := false
		switch source := f[0][:1]; source {
		case sourceMethod:
			met = a != nil && a.Method == string(value)
		case sourcePath:
			if tooLong(path, f[1]) {
				return false, TooLong
			}
			met = regex.Match(string(value), path) != nil
		default:
			met, instead = a.meets(f, string(value))
		}
		if !met {
			return false, instead
		}
	}
	return true, ""
}

func tooLong(text, longest string) bool {
	most, _ := strconv.Atoi(longest)
	return len(text) > most
}

// meets reports whether a header or parameter is as the fields of a condition say.
func (a *Asked) meets(f []string, value string) (met bool, instead string) {
	name, err := hex.DecodeString(f[1])
	if err != nil || a == nil || a.Value == nil {
		return false, ""
	}
	got, has := a.Value(model.CanarySource(f[0][:1]), string(name))
	switch {
	case !has:
		return false, ""
	case f[0][1:] != expression || len(f) != 4:
		return got == value, ""
	case !tooLong(got, f[3]):
		return regex.Match(value, got) != nil, ""
	case f[0][:1] == string(model.CanaryHeader):
		return false, TooLarge
	}
	return false, TooLong
}

// ByConditions compares claims of one key by which is asked first: expressions before
// paths, the longer one first; then those with a method, with more headers, with more
// parameters; then those with fewer expressions for these; then the older claim.
func ByConditions(a, b *model.Claim) int {
	x, y := a.Conditions, b.Conditions
	if x == nil {
		x = &model.Conditions{}
	}
	if y == nil {
		y = &model.Conditions{}
	}
	written := func(c *model.Conditions) int {
		if c.Path == nil {
			return 0
		}
		return len(c.Path.Written)
	}
	return cmp.Or(
		cmp.Compare(written(y), written(x)),
		cmp.Compare(min(len(y.Method), 1), min(len(x.Method), 1)),
		cmp.Compare(len(y.Headers), len(x.Headers)),
		cmp.Compare(len(y.Queries), len(x.Queries)),
		cmp.Compare(patterned(x), patterned(y)),
		model.ByAge(a, b),
	)
}

// patterned counts the headers and parameters that are compared with an expression.
func patterned(c *model.Conditions) int {
	n, _ := c.Expressions()
	if c.Path != nil {
		n--
	}
	return n
}
