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
	// Misdirected answers 421. No table has it: it is the answer over TLS that
	// ended at the router to a request for a passthrough host, which may have
	// become one while the connection lasted.
	Misdirected = "!421"
)

// RedirectStatuses are the statuses that a redirect to https may have.
var RedirectStatuses = []int{301, 302, 303, 307, 308}

// Redirect returns the value that answers with the https address: "!302", or
// "!302:8443" with a port.
func Redirect(to model.ToHTTPS) string {
	value := "!" + strconv.Itoa(cmp.Or(to.Status, 302))
	if to.Port != 0 {
		value += ":" + strconv.Itoa(to.Port)
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
}

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
// first wins.
func NewTable(host string, rules []Rule) Table {
	t := make(Table, len(rules))
	// "/foo/" and "/foo" have the same key. The longer one owns it, and the
	// shorter one gets what is left, by way of the shield.
	for _, r := range rules {
		if r.slashed() {
			t.add(key(host, r), r.Value)
		}
	}
	prefixes := make(map[string]string, len(rules)) // the first of each path
	for _, r := range rules {
		t.add(key(host, r), r.Value)
		if _, taken := prefixes[r.Path]; !taken && !r.Exact {
			prefixes[r.Path] = r.Value
		}
	}
	for _, r := range rules {
		// A rule that ends in a slash must not answer for the path without it.
		if !r.slashed() {
			continue
		}
		path := strings.TrimSuffix(r.Path, "/")
		v, named := prefixes[path]
		if !named {
			v = t.lookup(host + path)
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
	return !r.Exact && !r.root() && strings.HasSuffix(r.Path, "/")
}

// root reports whether a rule answers for every path. Any number of slashes
// says so, as it does on OpenShift.
func (r Rule) root() bool { return !r.Exact && strings.Trim(r.Path, "/") == "" }

// Covers reports whether a rule answers for every path of another one.
func (r Rule) Covers(o Rule) bool {
	switch {
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
	v, ok := t[name]
	if !ok {
		v = t[Wildcard(name)]
	}
	if strings.HasPrefix(v, "!") {
		return ""
	}
	return v
}

func (t Table) add(k, v string) {
	if _, taken := t[k]; !taken {
		t[k] = v
	}
}

func key(host string, r Rule) string {
	switch {
	case r.Exact:
		return host + r.Path + end
	case r.root():
		return host + "/"
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
// first label.
func Wildcard(host string) string {
	_, rest, _ := strings.Cut(host, ".")
	return "*." + rest
}

// Request decides one request: the backend, or one of the values above, or ""
// if nothing matches. Host is as the client sent it, path is the raw path
// without query.
func (t Table) Request(host, path string) string { return t.RequestAmong(t, host, path) }

// RequestAmong is Request where the hosts of all routes are in another table,
// that of the HTTP listener.
func (t Table) RequestAmong(hosts Table, host, path string) string {
	v, _ := t.Look(hosts, host, path)
	return v
}

// Look is RequestAmong, and reports whether another value would stand there if
// paths were not normalised.
func (t Table) Look(hosts Table, host, path string) (value string, respelled bool) {
	raw, level := t.raw(hosts, host, path)
	if _, guarded := t[level+normalRoot]; !guarded || raw == "" || raw[0] == '!' {
		return raw, false
	}
	text, ok := normalText(path)
	if !ok {
		return BadPath, true
	}
	h := Host(host)
	levels := []string{h, Wildcard(h)}
	if level == Any {
		levels = []string{Any}
	}
	for _, l := range levels {
		if v := t.lookup(l + text); v != "" && v != Miss {
			return v, v != raw
		}
	}
	return Refuse, true
}

// raw looks a path up as it is written, and returns the host whose key answers.
func (t Table) raw(hosts Table, host, path string) (value, level string) {
	h := Host(host)
	known := false
	for _, candidate := range []string{h, Wildcard(h)} {
		if v := t.lookup(candidate + path + end); v != "" && v != Miss {
			return v, candidate
		}
		known = known || hosts.lookup(candidate+path+end) != ""
	}
	if known {
		return "", ""
	}
	return t.lookup(Any + path + end), Any
}

// Mark makes a host known, so that rules for any host leave it alone, whatever
// the path.
func (t Table) Mark(host string) {
	if host != Any {
		t.add(host+"/", Miss)
	}
}
