package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// headerKeys are the annotations that change what pods, or clients, get.
type headerKeys struct {
	// prefix is X-Forwarded-Prefix, which ingress-nginx sets beside a rewrite.
	prefix   said
	rewrites bool
	// request and response are lines of a name and a value.
	request, response said
}

// bytesText is a number of bytes as nginx writes it.
var bytesText = regexp.MustCompile(`^([0-9]{1,15})([kKmMgG]?)$`)

// maxBody bounds bodies of requests.
func maxBody(value string, into *carried) error {
	m := bytesText.FindStringSubmatch(value)
	if m == nil {
		return fmt.Errorf("%q is not a number of bytes such as 512k, 8m or 1g", value)
	}
	number := strings.TrimLeft(m[1], "0")
	if number == "" {
		return nil // no limit
	}
	text := number + map[string]string{"": "", "k": "Ki", "m": "Mi", "g": "Gi"}[strings.ToLower(m[2])]
	if _, unreadable := policy.Protection(map[string]string{policy.AnnotationMaxBody: text}, policy.Spec{}); unreadable {
		return fmt.Errorf("%q is more than 64g", value)
	}
	into.set(policy.AnnotationMaxBody, text, func(a, b string) bool { return inBytes(a) < inBytes(b) })
	return nil
}

// inBytes reads a size that was written before.
func inBytes(text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.Value()
}

// maxBodyOrNone is maxBody of a controller with a word for no limit.
func maxBodyOrNone(value string, into *carried) error {
	if value == "unlimited" {
		return nil
	}
	return maxBody(value, into)
}

// connectTimeout reads seconds.
func connectTimeout(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	into.set(policy.AnnotationConnectTimeout, strconv.FormatUint(n, 10)+"s", nil)
	return nil
}

// podHost is the Host header of pods.
func podHost(value string, into *carried) error {
	host := strings.ToLower(value)
	if err := policy.Usable(&v1alpha1.PolicySpec{Rewrite: &v1alpha1.Rewrite{Host: host}}); err != nil {
		return fmt.Errorf("%q cannot be the host: %w", value, err)
	}
	into.set(policy.AnnotationHost, host, nil)
	return nil
}

func accessLog(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	if !on {
		into.set(policy.AnnotationAccessLog, "false", nil)
	}
	return nil
}

// rewriteWhole is rewrite-target of ingress-nginx: without captures the target takes
// the place of the whole path.
func rewriteWhole(value string, into *carried) error {
	if isAddress(value) {
		return into.asRules(value, api.PathTypeRegexIgnoreCase)
	}
	into.headers.rewrites = true
	if strings.Contains(value, "$") {
		if into.keepsBelow(value) {
			return nil
		}
		return into.asRules(value, api.PathTypeRegexIgnoreCase)
	}
	if _, own := into.ingress.Annotations[api.AnnotationRewrite]; own {
		return nil
	}
	rewrite := &v1alpha1.Rewrite{Full: value}
	if err := policy.Usable(&v1alpha1.PolicySpec{Rewrite: rewrite}); err != nil || value == "" {
		return fmt.Errorf("%q cannot be a path: must begin with / and hold only visible ASCII characters without \" ' # ? | and backslash", value)
	}
	into.groups.Rewrite = rewrite
	return nil
}

// prefixText is a path, or a part of one.
var prefixText = regexp.MustCompile(`^[-/A-Za-z0-9._~]{1,999}$`)

func forwardedPrefix(value string, into *carried) error {
	if !prefixText.MatchString(value) {
		return fmt.Errorf("%q is not a path of letters, digits and - _ . ~ /", value)
	}
	into.headers.prefix = said{value, into.field}
	return nil
}

// headerLines takes lines of a name and a value.
func headerLines(key func(*headerKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error {
		if _, err := readHeaders(value); err != nil {
			return err
		}
		*key(&into.headers) = said{value, into.field}
		return nil
	}
}

func requestHeaders(k *headerKeys) *said  { return &k.request }
func responseHeaders(k *headerKeys) *said { return &k.response }

// headerLine is a name and a text, without anything that HAProxy's configuration has a
// meaning for.
var headerLine = regexp.MustCompile("^([A-Za-z0-9!#$&'*+.^_`|~-]{1,128})[ \t]+\"?([^\"%\\\\]*)\"?$")

type headerPair struct{ name, value string }

func readHeaders(text string) ([]headerPair, error) {
	var list []headerPair
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			return nil, errors.New("a line is no name and text without % \\ and quotes; write a policy with the group headers")
		}
		list = append(list, headerPair{m[1], m[2]})
	}
	return list, nil
}

// finishRequest asks for changes of headers.
func (c *conversion) finishRequest(into *carried) {
	k := &into.headers
	var request []v1alpha1.RequestHeader
	field := k.prefix.field
	if k.prefix.field != "" {
		if k.rewrites {
			request = append(request, v1alpha1.RequestHeader{Name: "X-Forwarded-Prefix", Value: k.prefix.value})
		} else {
			c.warn(k.prefix.field, api.ReasonForeignAnnotation, "ingress-nginx sets the header only beside rewrite-target", effectNone)
		}
	}
	lines, _ := readHeaders(k.request.value) // which were read before
	for _, h := range lines {
		request, field = append(request, v1alpha1.RequestHeader{Name: v1alpha1.ChangedHeader(h.name), Value: h.value}), k.request.field
	}
	if len(request) > 0 {
		c.shape(into, field, func(s *v1alpha1.PolicySpec) { headersOf(s).Request = &v1alpha1.RequestHeaders{Set: request} })
	}
	var response []v1alpha1.ResponseHeader
	lines, _ = readHeaders(k.response.value)
	for _, h := range lines {
		response = append(response, v1alpha1.ResponseHeader{Name: v1alpha1.ChangedHeader(h.name), Value: h.value})
	}
	if len(response) > 0 {
		c.shape(into, k.response.field, func(s *v1alpha1.PolicySpec) { headersOf(s).Response = &v1alpha1.ResponseHeaders{Set: response} })
	}
}

func headersOf(s *v1alpha1.PolicySpec) *v1alpha1.Headers {
	if s.Headers == nil {
		s.Headers = &v1alpha1.Headers{}
	}
	return s.Headers
}

// maxAliases bounds the further hosts of an Ingress.
const maxAliases = 50

// serverAlias adds the rules of the one host of the Ingress for further hosts.
func serverAlias(value string, into *carried) error {
	hosts := Hosts(into.ingress)
	if len(hosts) != 1 || hosts[0] == "" {
		return errors.New("it is for an Ingress with one host; give each host its own rule")
	}
	aliases, err := aliasHosts(value, hosts[0])
	if err != nil {
		return err
	}
	rules, entries := into.ingress.Spec.Rules, into.ingress.Spec.TLS
	for _, alias := range aliases {
		for _, rule := range rules {
			more := *rule.DeepCopy()
			more.Host = alias
			into.ingress.Spec.Rules = append(into.ingress.Spec.Rules, more)
		}
		// As with ingress-nginx, the certificate is that of the host.
		if n := slices.IndexFunc(entries, func(t networkingv1.IngressTLS) bool { return slices.Contains(t.Hosts, hosts[0]) }); n >= 0 {
			entries[n].Hosts = append(slices.Clone(entries[n].Hosts), alias)
		}
	}
	return nil
}

func aliasHosts(value, host string) ([]string, error) {
	var aliases []string
	for _, alias := range words(value) {
		name, _ := strings.CutPrefix(alias, "*.")
		switch {
		case strings.HasPrefix(alias, "~"):
			return nil, errors.New("hosts are no regular expressions; give each host its own rule")
		case len(validation.IsDNS1123Subdomain(name)) > 0:
			return nil, fmt.Errorf("%q is not the name of a host", alias)
		case alias != host && !slices.Contains(aliases, alias):
			aliases = append(aliases, alias)
		}
	}
	if len(aliases) > maxAliases {
		return nil, fmt.Errorf("it has %d hosts; at most %d are possible", len(aliases), maxAliases)
	}
	return aliases, nil
}
