package bundle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// productNamespaces stay as they are: every cluster has them.
var productNamespaces = []string{
	"openshift-ingress", "openshift-ingress-operator", "openshift-ingress-canary", "openshift-config", "metallb-system", "default", "kube-system", "kube-public", "kube-node-lease",
}

// Names replaces hosts and namespaces, each always by the same name. The zero value
// replaces nothing.
type Names struct {
	on                bool
	namespaces, hosts map[string]string
}

// NewNames returns what replaces the namespaces and hosts that the objects name. Further
// hosts, below those or in URLs, are replaced as they come.
func NewNames(objects []map[string]any) *Names {
	n := &Names{on: true, namespaces: map[string]string{}, hosts: map[string]string{}}
	spaces, hosts := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		gatherNames("", o, spaces, hosts)
		if o["kind"] == "Namespace" {
			if m, ok := o["metadata"].(map[string]any); ok {
				if name, ok := m["name"].(string); ok {
					spaces[name] = true
				}
			}
		}
	}
	for _, name := range sorted(spaces) {
		if !slices.Contains(productNamespaces, name) && name != "" {
			n.namespaces[name] = fmt.Sprintf("namespace-%d", len(n.namespaces)+1)
		}
	}
	for _, host := range sorted(hosts) {
		n.host(host)
	}
	return n
}

// hostFields have hosts, or lists of them.
var hostFields = []string{"host", "hosts", "hostname", "hostnames", "domain", "dnsname", "routercanonicalhostname", "subdomain", "sni", "servername", "basedomain", "exactname"}

// gatherNames finds the namespaces and hosts of an object.
func gatherNames(name string, v any, spaces, hosts map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			gatherNames(key, part, spaces, hosts)
		}
	case []any:
		for _, part := range v {
			gatherNames(name, part, spaces, hosts)
		}
	case string:
		lower := strings.ToLower(name)
		switch {
		case lower == "namespace":
			spaces[v] = true
		case slices.Contains(hostFields, lower):
			hosts[hostKey(v)] = true
		default:
			for _, m := range urlHost.FindAllStringSubmatch(v, -1) {
				hosts[hostKey(m[1])] = true
			}
		}
	}
}

var (
	urlHost = regexp.MustCompile(`://(?:[^/\s"'@]*@)?([A-Za-z0-9][A-Za-z0-9.-]*)`)
	// token is what may be a host or a namespace, or hosts and namespaces joined by dots.
	token   = regexp.MustCompile(`[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?`)
	address = regexp.MustCompile(`^[0-9.]+$`)
)

// hostKey is how a host is looked up.
func hostKey(host string) string {
	return strings.ToLower(strings.Trim(strings.TrimPrefix(host, "*."), "."))
}

// suffixes of names that are the same in every cluster.
var commonHosts = []string{"k8s.io", "kubernetes.io", "openshift.io", "fairlead.dev", "metallb.io", "svc", "cluster.local", "localhost"}

// common reports whether a host says nothing of the cluster.
func common(host string) bool {
	return host == "" || address.MatchString(host) || slices.ContainsFunc(commonHosts, func(s string) bool { return host == s || strings.HasSuffix(host, "."+s) })
}

// host returns what replaces one.
func (n *Names) host(host string) string {
	if common(host) {
		return host
	}
	if n.hosts[host] == "" {
		n.hosts[host] = fmt.Sprintf("host-%d.anonymous", len(n.hosts)+1)
	}
	return n.hosts[host]
}

// Text replaces all hosts and namespaces in a text.
func (n *Names) Text(text string) string {
	if n == nil || !n.on {
		return text
	}
	for _, m := range urlHost.FindAllStringSubmatch(text, -1) {
		n.host(hostKey(m[1]))
	}
	return token.ReplaceAllStringFunc(text, n.word)
}

// word replaces one word that may be a host or a namespace.
func (n *Names) word(word string) string {
	lower := strings.ToLower(word)
	if with := n.hosts[lower]; with != "" {
		return with
	}
	if with := n.namespaces[word]; with != "" {
		return with
	}
	if !strings.Contains(word, ".") {
		return word
	}
	for rest := lower; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			break
		}
		if n.hosts[after] != "" {
			return n.host(lower)
		}
		rest = after
	}
	labels := strings.Split(word, ".")
	for i, label := range labels {
		if with := n.namespaces[label]; with != "" {
			labels[i] = with
		}
	}
	return strings.Join(labels, ".")
}

// Object replaces hosts and namespaces in an object. Certificates name hosts in a form that
// cannot be replaced, so they are left out.
func (n *Names) Object(o map[string]any) map[string]any {
	if n == nil || !n.on {
		return o
	}
	clean, _ := n.value(o).(map[string]any)
	return clean
}

// Data replaces hosts and namespaces in what is written as JSON.
func (n *Names) Data(v any) any {
	if n == nil || !n.on {
		return v
	}
	return n.value(v)
}

var pemBlock = regexp.MustCompile(`(?s)-----BEGIN [^-]*-----.*?(?:-----END [^-]*-----|\z)`)

func (n *Names) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, part := range v {
			out[n.Text(key)] = n.value(part)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, part := range v {
			out[i] = n.value(part)
		}
		return out
	case string:
		return n.Text(pemBlock.ReplaceAllString(v, LeftOut))
	}
	return v
}
