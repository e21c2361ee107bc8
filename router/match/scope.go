package match

import (
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Requests that come in by a Gateway's listener are looked up in the same tables, with hosts
// of its scope (model.ScopedHost). There a wildcard covers any number of labels, and a path
// that no claim of the host takes goes on to its wildcard, and from there to any host.

// maxLabels is how many labels of a host, from behind, suffixes are compared with.
const maxLabels = 8

// MaxWildcardLabels is how many labels a wildcard host of a scope may have behind "*.".
const MaxWildcardLabels = maxLabels - 1

// OwnAnswer returns the value that answers with a status of the router's own: "!500".
func OwnAnswer(status int) string { return "!" + strconv.Itoa(status) }

// ListenerKey is the key of a slot in the table of listeners, or of a host there.
func ListenerKey(slot int, host string) string {
	if host == "" {
		return strconv.Itoa(slot)
	}
	return strconv.Itoa(slot) + "/" + host
}

// ClientsKey is the key of what the handshakes of a slot ask clients for, in the table of
// listeners. No key of a host is like it.
func ClientsKey(slot int) string { return strconv.Itoa(slot) + "!" }

// LeftKey is the key of slots whose clients are told to open new connections, in the table of
// listeners, and Left its value.
func LeftKey(slot int) string { return strconv.Itoa(slot) + "-" }

// Left marks slots that ports have moved from.
const Left = "left"

// Suffixed marks slots of which listeners are in the table of suffixes.
const Suffixed = "+"

// EndsTLS marks listeners that end TLS of connections that are then handed on whole.
const EndsTLS = "tls"

// EndsHTTPS marks listeners that end TLS of requests.
const EndsHTTPS = "https"

// SuffixKey is the key of a wildcard host in the table of suffixes, below a slot and "/" or
// the prefix of a scope: "*.example.com" has "com.example.".
func SuffixKey(below, wildcard string) string {
	return below + reversed(strings.TrimPrefix(wildcard, "*.")) + "."
}

// suffixEnd stands between the wildcard hosts of a SuffixValue.
const suffixEnd = "|"

// maxSuffixes is how many wildcard hosts of one scope are asked for a host, the longest
// ones first.
const maxSuffixes = 3

// WildcardCovers reports whether a wildcard host of a scope takes all that another one does.
func WildcardCovers(outer, inner string) bool {
	return strings.HasSuffix(inner, strings.TrimPrefix(outer, "*"))
}

// SuffixValue is the value of a wildcard host in the table of suffixes: itself, and those of
// the scope that cover it, the longest first.
func SuffixValue(wildcard string, all map[string]struct{}) string {
	var covers []string
	for w := wildcard; w != "" && len(covers) < maxSuffixes; {
		if _, there := all[w]; there {
			covers = append(covers, w)
		}
		_, rest, more := strings.Cut(strings.TrimPrefix(w, "*."), ".")
		if w = ""; more {
			w = "*." + rest
		}
	}
	return strings.Join(covers, suffixEnd)
}

// reversed returns the last labels of a host, from behind.
func reversed(host string) string {
	labels := strings.Split(host, ".")
	var b strings.Builder
	for n := range min(len(labels), maxLabels) {
		if n > 0 {
			b.WriteByte('.')
		}
		b.WriteString(labels[len(labels)-1-n])
	}
	return strings.TrimRight(b.String(), ".")
}

// scope returns the scope of a slot that a host belongs to, or "".
func (t *Tables) scope(slot int, host string) model.ScopeID {
	prefix, exact := t.Listeners[ListenerKey(slot, "")+"/"+host] // no host is not the slot's own key
	if _, suffixed := t.Listeners[ListenerKey(slot, Suffixed)]; !exact && suffixed {
		prefix = t.Suffixes.lookup(ListenerKey(slot, reversed(host)) + "/")
	}
	if prefix == "" {
		prefix = t.Listeners[ListenerKey(slot, Any)]
	}
	scope, _ := model.SplitHost(prefix)
	return scope
}

// decideScoped looks up a request that comes in by a slot.
func (t *Tables) decideScoped(r Request) Decision {
	d := Decision{Listener: ListenerHTTP, Value: Refuse}
	host := Host(r.Host)
	if d.Scope = t.scope(r.Slot, host); d.Scope == "" {
		return d
	}
	hosts := []string{host}
	if value := t.Suffixes.lookup(d.Scope.Prefix() + reversed(host) + "/"); value != "" {
		hosts = append(hosts, strings.Split(value, suffixEnd)...)
	}
	hosts = append(hosts, Any)
	for _, h := range hosts {
		level := model.ScopedHost(d.Scope, h)
		v := t.HTTP.choose(level+r.Path+end, r.Path, &r.Asked)
		if v == "" || v == Miss {
			continue
		}
		if _, guarded := t.HTTP[level+normalRoot]; guarded && v[0] != '!' {
			d.Value, d.Respelled = t.normalScoped(d.Scope, hosts, r, v)
			return d
		}
		d.Value = v
		return d
	}
	return d
}

// normalScoped looks a path up as pods may read it, which as it is written leads to a value.
func (t *Tables) normalScoped(scope model.ScopeID, hosts []string, r Request, written string) (value string, respelled bool) {
	text, ok := normalText(r.Path)
	if !ok {
		return BadPath, true
	}
	decoded, _ := Normal(r.Path)
	for _, h := range hosts {
		v := t.HTTP.choose(model.ScopedHost(scope, h)+text, decoded, &r.Asked)
		switch {
		case v == "" || v == Miss:
		case v != written && t.Rewrites != nil && t.Rewrites(v):
			return BadPath, true // a rewrite cuts as many bytes as the rule's path has
		default:
			return v, v != written
		}
	}
	return Refuse, true
}
