package bundle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// LeftOut takes the place of what is left out.
const LeftOut = "(left out)"

// Redact returns a copy of an object, as JSON has it, without keys and passwords.
func Redact(o map[string]any) map[string]any {
	clean, _ := value("", "", nil, o).(map[string]any)
	if metadata, ok := clean["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return clean
}

// value returns a part of an object without what must not be shown. It is below the field
// name, which is below parent; of is what the field is part of.
func value(parent, name string, of map[string]any, v any) any {
	if _, is := v.(bool); !is && v != nil && v != "" && secretField(parent, name) {
		return LeftOut // a text, a number, or a whole map of them
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, part := range v {
			out[Text(key)] = value(name, key, v, part)
		}
		if name == "annotations" { // of the object, of its pods, or of what is made for it
			return cleanAnnotations(out)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, part := range v {
			out[i] = value(parent, name, of, part)
		}
		return out
	case string:
		if v != "" && secretValue(parent, name, of) {
			return LeftOut
		}
		return Text(v)
	}
	return v
}

// secretFields hold passwords, keys and tokens themselves. Fields with the name of a Secret
// are not among them.
var secretFields = []string{
	"password", "passwd", "passphrase", "token", "authorization", "credentials", "privatekey", "accesskey", "secretkey", "secretaccesskey", "apikey",
	"data", "stringdata", "binarydata", "cabundle",
}

func secretField(parent, name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(secretFields, lower) || lower == "key" && strings.EqualFold(parent, "tls")
}

// environment are variables of Fairlead's programs whose values say something.
var environment = []string{"ROUTER_IMAGE", "CANARY_IMAGE", "CANARY_INTERVAL", "DOMAIN"}

// secretValue reports whether a text may be the value of something that is secret.
func secretValue(parent, name string, of map[string]any) bool {
	lower := strings.ToLower(name)
	if lower != "value" && lower != "values" {
		return false
	}
	// Values of headers, cookies, parameters and environment variables may be credentials;
	// those of paths, tolerations and selectors are not.
	switch variable, _ := of["name"].(string); {
	case slices.Contains(environment, variable):
		return false
	case strings.EqualFold(parent, "path"):
		return false
	case of["key"] != nil && of["operator"] != nil, of["effect"] != nil:
		return false
	}
	return true
}

// harmlessAnnotations are prefixes of keys whose values are shown.
var harmlessAnnotations = []string{
	"fairlead.dev/", "haproxy.router.openshift.io/", "router.openshift.io/", "openshift.io/host.generated", "ingress.operator.openshift.io/",
	"metallb.io/", "metallb.universe.tf/", "gateway.networking.k8s.io/", "kubernetes.io/ingress.class", "ingressclass.kubernetes.io/",
	"nginx.ingress.kubernetes.io/", "haproxy.org/", "haproxy-ingress.github.io/", "deployment.kubernetes.io/", "deprecated.daemonset.template.generation",
	"endpoints.kubernetes.io/", "service.beta.kubernetes.io/", "meta.helm.sh/", "api-approved.kubernetes.io",
}

// tellingKeys are words in keys of annotations whose values may be credentials, or texts that contain some.
var tellingKeys = []string{"snippet", "secret", "password", "passwd", "token", "header", "cookie", "auth", "key", "lua", "ingress-policy", "template"}

func cleanAnnotations(all map[string]any) map[string]any {
	out := make(map[string]any, len(all))
	for key, v := range all {
		text, ok := v.(string)
		telling := func(word string) bool { return strings.Contains(strings.ToLower(key), word) }
		if ok && !slices.ContainsFunc(tellingKeys, telling) && slices.ContainsFunc(harmlessAnnotations, func(p string) bool { return strings.HasPrefix(key, p) }) {
			out[key] = text
			continue
		}
		out[key] = fmt.Sprintf("(left out, %d characters)", len([]rune(fmt.Sprint(v))))
	}
	return out
}

// credential is a way in which text has a key or a password. Its groups are what is kept
// before and after it. Text without any of the words, in lower case, has none.
type credential struct {
	words []string
	form  *regexp.Regexp
}

// key is one in PEM, also one whose end is missing, in JSON with \n in place of line breaks.
var key = regexp.MustCompile(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----).*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)

var named = []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "api", "access", "private", "credential"}

var credentials = []credential{
	// User and password of a URL.
	{[]string{"://"}, regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://)[^/\s"'<>?#]*@()`)},
	// A header with credentials, to the end of the line or of the quoted text.
	{[]string{"authorization"}, regexp.MustCompile(`(?i)((?:proxy-)?authorization["']?\s*[:=]\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\n"']+)()`)},
	{[]string{"cookie"}, regexp.MustCompile(`(?i)((?:set-)?cookie["']?\s*[:=]\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\n"']+)()`)},
	{[]string{"bearer", "basic", "negotiate"}, regexp.MustCompile(`(?i)(\b(?:bearer|basic|negotiate)\s+)[A-Za-z0-9._~+/=-]{6,}()`)},
	// A JSON Web Token.
	{[]string{"eyj"}, regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?()`)},
	// key=value and "key": "value".
	{named, regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["']?\s*[:=]\s*)(?:"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"',;&)}\]]+)()`)},
}

// Text returns a text without keys and passwords in the usual forms.
//
// Logs are long, and most of their lines have none of the words: the forms are compared
// only with lines that have one, together with the lines where its value may be.
func Text(text string) string {
	if strings.Contains(text, "PRIVATE KEY-----") {
		text = key.ReplaceAllString(text, "${1}"+LeftOut+"${2}")
	}
	if !telling(text) {
		return text
	}
	var out, near strings.Builder
	more := false
	for line := range strings.SplitAfterSeq(text, "\n") {
		hot := telling(line)
		if hot || more {
			near.WriteString(line)
		} else {
			out.WriteString(hide(near.String()))
			near.Reset()
			out.WriteString(line)
		}
		// A line without text, such as between a word and its value, is no end of it.
		more = hot || more && strings.TrimSpace(line) == ""
	}
	out.WriteString(hide(near.String()))
	return out.String()
}

// telling reports whether a text has one of the words.
func telling(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(credentials, func(c credential) bool {
		return slices.ContainsFunc(c.words, func(word string) bool { return strings.Contains(lower, word) })
	})
}

// chain is how far before the end of a value the next word is looked for.
const chain = 64

// hide replaces the values of all forms. What looks like the value of one word may be the
// next word, so each form is compared with the text as it was.
func hide(text string) string {
	type span struct{ from, to int }
	var spans []span
	for _, c := range credentials {
		for at := 0; at < len(text); {
			found := c.form.FindStringSubmatchIndex(text[at:])
			if found == nil {
				break
			}
			s := span{at + found[3], at + found[4]}
			spans = append(spans, s)
			if at = s.to; strings.ContainsAny(text[max(s.from, s.to-1):s.to], ":=") {
				at = max(s.from, s.to-chain)
			}
			at = max(at, s.from, 1)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, s := range spans {
		if s.from >= at {
			out.WriteString(text[at:s.from] + LeftOut)
		}
		at = max(at, s.to)
	}
	return out.String() + text[at:]
}

// Data returns what is written as JSON without keys and passwords.
func Data(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write as JSON: %w", err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return value("", "", nil, plain), nil
}
