// Package match holds the routing tables and looks requests up in them, with
// the same keys and the same answers as HAProxy's prefix maps. It is pure.
//
// A key is the host and the path of a rule, ended by a slash; a request is
// looked up as host, path and "/#", and the longest key that begins the
// look-up text wins. Whole path segments, exact paths and length order all
// follow from that, without a regular expression:
//
//	rule               key            answers
//	prefix "" or /     h/             everything
//	prefix /foo        h/foo/         /foo, /foo/, /foo/x, not /foobar
//	exact  /foo        h/foo/#        /foo
//	prefix /foo/       h/foo/         /foo/, /foo/x; a shield h/foo/# gives
//	                                  /foo to the route that would have it otherwise
//
// Where routes of a host protect something (Guard), its table has the same keys
// once more, for normalised paths: percent-encoded, "/" included, so that the
// two never meet.
//
// The tables are asked for the host, for the wildcard host that covers it, and,
// if no route names either, for any host.
package match

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Values that are not the name of a backend.
const (
	// Refuse answers as if there were no route.
	Refuse = "!none"
	// Miss looks on in less specific tables.
	Miss = "!miss"
	// Terminate, in the server-name map, ends TLS at the router even where a
	// wildcard passthrough route would take the connection.
	Terminate = "!t"
	// BadPath answers 400. No table has it: it is the answer to a path that
	// programs read in different ways, where that matters.
	BadPath = "!400"
	// Misdirected answers 421. No table has it: it is the answer to a request over a
	// connection that did not ask for the certificate that its host asks for, and over TLS that
	// ended at the router to a request for a passthrough host, which may have
	// become one while the connection lasted.
	Misdirected = "!421"
	// TooLong answers 414. No table has it: it is the answer to a path that is longer than
	// what an expression is compared with that could be for it.
	TooLong = "!414"
	// TooLarge answers 431, as TooLong does, for a header that is longer.
	TooLarge = "!431"
)

// RedirectStatuses are the statuses that a redirect to https may have.
var RedirectStatuses = []int{301, 302, 303, 307, 308}

// Redirect returns the value that answers with the https address: "!302", or
// "!302:8443" with a port.
func Redirect(to model.ToHTTPS) string {
	value := "!" + strconv.Itoa(int(cmp.Or(to.Status, 302)))
	if to.Port != 0 {
		value += ":" + strconv.Itoa(int(to.Port))
	}
	return value
}

// RedirectStatus returns the status of a value of Redirect, or 0 for all others.
func RedirectStatus(value string) int {
	word, _, _ := strings.Cut(value, ":")
	for _, status := range RedirectStatuses {
		if word == "!"+strconv.Itoa(status) {
			return status
		}
	}
	return 0
}

// RedirectHost returns a host as the address of a value of Redirect has it: with the
// port, if the value has one.
func RedirectHost(value, host string) string {
	if _, port, ok := strings.Cut(value, ":"); ok {
		return host + ":" + port
	}
	return host
}

// Any is the host of rules for all hosts that no route names.
const Any = "*"

// end closes a look-up text. It cannot be part of a request path: HAProxy
// refuses a request target that holds it.
const end = "/#"

// Rule is one path of one host.
type Rule struct {
	// Path is as the route has it; "", "/" and "//" mean every path.
	Path  string
	Exact bool
	Value string
	// Conditions are what a request must have besides; nil for most rules. With an
	// expression in them, the rule is for all paths that begin with the text of Path,
	// whole segments or not.
	Conditions *model.Conditions
}

// RuleOf returns the rule of a claim.
func RuleOf(c *model.Claim, value string) Rule {
	return Rule{Path: c.Path, Exact: c.Exact, Value: value, Conditions: c.Conditions}
}

// open reports whether the rule is for all paths that begin with its text.
func (r *Rule) open() bool { return r.Conditions != nil && r.Conditions.Path != nil }

// Table maps keys of one host, or of many, to values.
type Table map[string]string

// Entry is a key of a table, with its value.
type Entry struct{ Key, Value string }

// Entries returns what a table holds, sorted by key: a form to keep, because a map of
// one key takes ten times the memory.
func (t Table) Entries() []Entry {
	if len(t) == 0 {
		return nil
	}
	list := make([]Entry, 0, len(t))
	for k, v := range t {
		list = append(list, Entry{k, v})
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// NewTable returns the keys of one host. Of two rules for the same path, the
// first wins; after rules with conditions the next one is for what these leave.
func NewTable(host string, rules []Rule) Table {
	t := make(Table, len(rules))
	add := func(r *Rule) {
		k := key(host, *r)
		t.add(k, newList(host, k, r))
	}
	// "/foo/" and "/foo" have the same key. The longer one owns it, and the
	// shorter one gets what is left, by way of the shield. Expressions come before both.
	for i := range rules {
		if rules[i].open() {
			add(&rules[i])
		}
	}
	for i := range rules {
		if rules[i].slashed() {
			add(&rules[i])
		}
	}
	prefixes := make(Table, len(rules)) // the first of each path
	for i := range rules {
		r := &rules[i]
		if !r.open() && !r.slashed() {
			add(r)
		}
		if !r.open() && !r.Exact {
			prefixes.add(r.Path, newList(host, key(host, *r), r))
		}
	}
	for _, r := range rules {
		// A rule that ends in a slash must not answer for the path without it.
		if !r.slashed() {
			continue
		}
		path := strings.TrimSuffix(r.Path, "/")
		v := t.lookup(host + path)
		if own, named := prefixes[path]; named {
			v = own
		}
		if v == "" {
			v = Miss
		}
		t.add(host+r.Path+"#", v) // an exact rule for that path has the key already
	}
	return t
}

// slashed reports whether a rule answers below its path, but not at it.
func (r Rule) slashed() bool {
	return !r.Exact && !r.open() && !r.root() && strings.HasSuffix(r.Path, "/")
}

// root reports whether a rule answers for every path. Any number of slashes
// says so, as it does on OpenShift.
func (r Rule) root() bool { return !r.Exact && strings.Trim(r.Path, "/") == "" }

// Covers reports whether a rule answers for every path of another one.
func (r Rule) Covers(o Rule) bool {
	switch {
	case r.Conditions != nil:
		return r.Path == o.Path && r.Exact == o.Exact && r.Conditions.Equal(o.Conditions)
	case o.open() && !r.Exact: // as that of a path that goes on with anything
		return strings.HasPrefix(o.Path, strings.TrimSuffix(r.Path, "/")+"/") || r.root()
	case r.root():
		return true
	case r.Exact:
		return o.Exact && o.Path == r.Path
	case o.root():
		return false
	}
	text := o.Path
	if o.Exact || !o.slashed() {
		text += "/"
	}
	return strings.HasPrefix(text, strings.TrimSuffix(r.Path, "/")+"/") && (!r.slashed() || o.Path != strings.TrimSuffix(r.Path, "/"))
}

// Passthrough returns the backend that takes the TLS connections for a server
// name, or "" if TLS ends at the router. The table is that of server names.
func (t Table) Passthrough(name string) string {
	v := t.value(name)
	if strings.HasPrefix(v, "!") {
		return ""
	}
	return v
}

// value returns that of a server name, or of the wildcard above it.
func (t Table) value(name string) string {
	if v, ok := t[name]; ok {
		return v
	}
	return t[Wildcard(name)]
}

func (t Table) add(k, v string) {
	if first, taken := t[k]; taken {
		v = then(first, v)
	}
	t[k] = v
}

func key(host string, r Rule) string {
	switch {
	case r.Exact:
		return host + r.Path + end
	case r.root():
		return host + "/"
	case r.open():
		return host + r.Path
	case strings.HasSuffix(r.Path, "/"):
		return host + r.Path
	}
	return host + r.Path + "/"
}

// lookup returns the value of the longest key that begins the text.
func (t Table) lookup(text string) string {
	for n := len(text); n > 0; n-- {
		if v, ok := t[text[:n]]; ok {
			return v
		}
	}
	return ""
}

// Host returns a Host header or server name as the tables know it: lower
// case, without port and without a trailing dot.
func Host(header string) string {
	h := header
	if i := strings.LastIndexByte(h, ':'); i > strings.LastIndexByte(h, ']') {
		h = h[:i]
	}
	return strings.ToLower(strings.TrimRight(h, "."))
}

// Wildcard returns the wildcard host that covers a host, "*." and all but the
// first label. Hosts of a scope have none here: Tables.Suffixes leads to theirs.
func Wildcard(host string) string {
	if model.Scoped(host) {
		return ""
	}
	_, rest, _ := strings.Cut(host, ".")
	return "*." + rest
}

// Request decides one request: the backend, or one of the values above, or ""
// if nothing matches. Host is as the client sent it, path is the raw path
// without query. It meets no conditions on headers and parameters.
func (t Table) Request(host, path string) string {
	v, _ := t.Look(t, host, path, nil)
	return v
}

// Look is Request where the hosts of all routes are in another table, that of the HTTP
// listener. It reports whether another value would stand there if paths were not
// normalised.
func (t Table) Look(hosts Table, host, path string, a *Asked) (value string, respelled bool) {
	raw, level := t.raw(hosts, host, path, a)
	if _, guarded := t[level+normalRoot]; !guarded || raw == "" || raw[0] == '!' {
		return raw, false
	}
	text, ok := normalText(path)
	if !ok {
		return BadPath, true
	}
	decoded, _ := Normal(path)
	h := Host(host)
	levels := []string{h, Wildcard(h)}
	if level == Any {
		levels = []string{Any}
	}
	for _, l := range levels {
		if v := t.choose(l+text, decoded, a); v != "" && v != Miss {
			return v, v != raw
		}
	}
	return Refuse, true
}

// raw looks a path up as it is written, and returns the host whose key answers.
func (t Table) raw(hosts Table, host, path string, a *Asked) (value, level string) {
	h := Host(host)
	known := false
	for _, candidate := range []string{h, Wildcard(h)} {
		if v := t.choose(candidate+path+end, path, a); v != "" && v != Miss {
			return v, candidate
		}
		known = known || hosts.lookup(candidate+path+end) != ""
	}
	if known {
		return "", ""
	}
	return t.choose(Any+path+end, path, a), Any
}

// Mark makes a host known, so that rules for any host leave it alone, whatever
// the path.
func (t Table) Mark(host string) {
	if host != Any {
		t.add(host+"/", Miss)
	}
}
