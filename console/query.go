package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/spelling"
)

const (
	// queryBytes and queryTerms bound what a search may be.
	queryBytes, queryTerms = 1000, 20
)

// term is one word of a search.
type term struct {
	key, value string
	not        bool
}

// query is a search of Routes. All terms must hold.
type query []term

// queryKeys are the words before a colon, and what they search in. Those with choices
// compare whole words; "ns" does, too, as long as the value has no "*".
func queryKeys(of listKind) map[string]queryKey {
	if of == eventList {
		return eventKeys()
	}
	states, kinds := []string{}, []string{}
	for _, s := range explain.RowStates() {
		states = append(states, string(s))
	}
	for _, k := range of.kinds() {
		kinds = append(kinds, strings.ToLower(k))
	}
	keys := map[string]queryKey{
		"kind":    {about: "the kind", choices: kinds},
		"ns":      {about: "the namespace"},
		"name":    {about: "a part of the name"},
		"host":    {about: "a part of the host"},
		"path":    {about: "a part of the path"},
		"service": {about: "a part of the name of a Service"},
		"ingress": {about: "a part of the name of the Ingress that the Route was made of"},
		"gateway": {about: "a part of the Gateways and ListenerSets that it is of, such as infra/web"},
		"reason":  {about: "a part of the reason of a finding"},
		"state":   {about: "what becomes of it", choices: states},
		"tls":     {about: "where TLS ends", choices: []string{"none", "edge", "reencrypt", "passthrough"}},
		"pods":    {about: "whether a pod is ready", choices: []string{"some", "none", "unknown"}},
		"cert":    {about: "the state of its certificate, such as ok or Expired"},
	}
	if of == listenerList {
		for _, of := range []string{"path", "service", "ingress", "pods"} {
			delete(keys, of)
		}
		keys["listener"] = queryKey{about: "a part of the name of the listener"}
	}
	return keys
}

type queryKey struct {
	about   string
	choices []string
}

// parseQuery reads a search: words, and terms such as host:shop, state:refused or -ns:test,
// separated by spaces. Double quotes keep a text with spaces or colons together. The error
// says what to write instead.
func parseQuery(text string, of listKind) (query, error) {
	if len(text) > queryBytes {
		return nil, fmt.Errorf("the search is longer than %d characters", queryBytes)
	}
	words, err := splitQuery(text)
	if err != nil {
		return nil, err
	}
	if len(words) > queryTerms {
		return nil, fmt.Errorf("the search has more than %d words", queryTerms)
	}
	keys := queryKeys(of)
	var q query
	for _, w := range words {
		t, err := w.term(keys)
		if err != nil {
			return nil, err
		}
		q = append(q, t)
	}
	return q, nil
}

// word is a part of a search. Colon is where the first colon outside of quotes is, or -1.
type word struct {
	text  string
	colon int
	not   bool
}

func (w word) term(keys map[string]queryKey) (term, error) {
	t := term{value: strings.ToLower(w.text), not: w.not}
	if w.colon < 0 {
		return t, nil
	}
	t.key, t.value = strings.ToLower(w.text[:w.colon]), strings.ToLower(w.text[w.colon+1:])
	key, known := keys[t.key]
	names := slices.Sorted(maps.Keys(keys))
	switch {
	case !known:
		return t, fmt.Errorf("%q is not something to search in; use one of: %s. Put a text with a colon into double quotes%s", t.key, strings.Join(names, ", "), meant(t.key, names))
	case t.value == "":
		return t, fmt.Errorf("%s: needs a value: %s", t.key, key.about)
	case key.choices != nil && !slices.Contains(key.choices, t.value):
		return t, fmt.Errorf("%s:%s is unknown; use one of: %s%s", t.key, t.value, strings.Join(key.choices, ", "), meant(t.value, key.choices))
	}
	return t, nil
}

// meant names the word that is nearest to a misspelt one.
func meant(text string, of []string) string {
	for _, word := range of {
		if spelling.Distance(text, word, 3) < 3 {
			return "; " + word + " may be meant"
		}
	}
	return ""
}

// splitQuery cuts a search at spaces outside of quotes.
func splitQuery(text string) ([]word, error) {
	var words []word
	var b strings.Builder
	w, begun, quoted := word{colon: -1}, false, false
	end := func() {
		if w.text = b.String(); begun && w.text != "" {
			words = append(words, w)
		}
		b.Reset()
		w, begun = word{colon: -1}, false
	}
	for _, c := range text {
		switch {
		case c == '"':
			quoted, begun = !quoted, true
		case quoted:
			b.WriteRune(c)
		case c == ' ' || c == '\t':
			end()
		case c == '-' && !begun:
			w.not, begun = true, true
		default:
			if c == ':' && w.colon < 0 {
				w.colon = b.Len()
			}
			b.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a double quote is open in the search %q", text)
	}
	end()
	return words, nil
}

// matches reports whether a Route is what is searched for.
func (q query) matches(r *explain.Row) bool {
	for _, t := range q {
		if t.matches(r) == t.not {
			return false
		}
	}
	return true
}

func (t term) matches(r *explain.Row) bool {
	in := func(text string) bool { return strings.Contains(strings.ToLower(text), t.value) }
	switch t.key {
	case "":
		return in(r.Route.Namespace+"/"+r.Route.Name) || in(r.Route.Host+r.Route.Path) || inAny(r.Hosts, in) || inAny(r.Paths, in) || in(r.Listener)
	case "kind":
		return strings.EqualFold(r.Kind, t.value)
	case "gateway":
		return inAny(r.Parents, in) || r.Kind == "Gateway" && in(r.Route.Namespace+"/"+r.Route.Name)
	case "listener":
		return in(r.Listener)
	case "ns":
		if strings.Contains(t.value, "*") {
			return between(strings.Split(t.value, "*"), strings.ToLower(r.Route.Namespace))
		}
		return strings.EqualFold(r.Route.Namespace, t.value)
	case "name":
		return in(r.Route.Name)
	case "host":
		return in(r.Route.Host) || inAny(r.Hosts, in)
	case "path":
		return in(r.Route.Path) || inAny(r.Paths, in)
	case "service":
		return slices.ContainsFunc(r.Services, in)
	case "ingress":
		return r.Route.Ingress != "" && in(r.Route.Ingress)
	case "reason":
		for _, reason := range r.Reasons {
			if in(string(reason)) {
				return true
			}
		}
		return false
	case "state":
		return string(r.State) == t.value
	case "tls":
		return termination(r) == t.value
	case "pods":
		return podsWord(r) == t.value
	default: // cert
		return strings.EqualFold(r.Certificate, t.value)
	}
}

func inAny(all []string, in func(string) bool) bool { return slices.ContainsFunc(all, in) }

// between reports whether a text is made of parts with anything between them.
func between(parts []string, text string) bool {
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, last)
}

func termination(r *explain.Row) string {
	if r.Route.Termination == "" {
		return "none"
	}
	return r.Route.Termination
}

func podsWord(r *explain.Row) string {
	switch {
	case r.Pods == nil:
		return "unknown"
	case *r.Pods == 0:
		return "none"
	}
	return "some"
}
