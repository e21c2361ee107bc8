package authentication

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Bounds of the fields.
const (
	mostHeaders = 16
	mostKeys    = 8
	longestTTL  = time.Hour
	// caKey is where a Secret has certificates.
	caKey = "ca.crt"
)

func (c *compiler) external(x *v1alpha1.ExternalAuthentication) {
	out := &snapshot.External{
		Method: x.Method, SetCookieAlways: x.SetCookieAlways, RefuseRedirects: x.Redirects == "Refuse", ByEndpoints: true,
		Timeout: c.duration("external.timeout", x.Timeout, 50*time.Millisecond, 5*time.Second),
	}
	c.oneOf("external.method", x.Method, "GET", "Original")
	c.oneOf("external.redirects", x.Redirects, "Pass", "Refuse")
	plain := func(field string, name v1alpha1.HeaderName) bool {
		if !model.HeaderName(string(name)) {
			c.close(field, "%q is not the name of a header", name)
			return false
		}
		return true
	}
	out.RequestHeaders = c.headers("external.requestHeaders", x.RequestHeaders, mostHeaders, plain)
	out.ResponseHeaders = c.headers("external.responseHeaders", x.ResponseHeaders, mostHeaders, c.forPod)
	out.ClientHeaders = c.headers("external.clientHeaders", x.ClientHeaders, mostHeaders, c.forPod)
	c.signIn(out, x.SignIn)
	c.cache(out, x.Cache)
	out.CA = c.ca("external.caSecret", x.CASecret)
	switch {
	case (x.Service != nil) == (x.URL != ""):
		c.close("external", "must have one of service and url")
	case x.Service == nil:
		out.ByEndpoints = false
		if out.URL = x.URL; c.address("external.url", x.URL, "http", "https") {
			c.methods = append(c.methods, "external: would ask "+x.URL)
		}
	default:
		if x.Service.TLS && x.CASecret == "" {
			c.close("external.caSecret", "service.tls needs the CA of the server's certificate")
		}
		c.service(out, x.Service)
	}
	c.out.External = out
}

// ca returns the certificates of a Secret, or an empty text if none is named.
func (c *compiler) ca(field string, name v1alpha1.ObjectReference) string {
	if name == "" {
		return ""
	}
	data, ok := c.secret(field, name)
	if !ok || data == nil {
		return ""
	}
	text := string(data[caKey])
	if !certificates(text) {
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has no certificates under the key %s", name, caKey)
	}
	return text
}

// address checks where another server is asked. The agent checks the addresses that its
// name has at the moment at which it connects.
func (c *compiler) address(field, text string, schemes ...string) bool {
	u, err := url.Parse(text)
	if !urlText().MatchString(text) || err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" || !slices.Contains(schemes, u.Scheme) {
		c.close(field, "must be an address with %s://, a host and no user", strings.Join(schemes, ":// or "))
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil && snapshot.Special(a) {
		c.unresolved(api.ReasonTargetForbidden, field, "%s is an address that the router never asks", host)
		return false
	}
	if c.in.MayAsk != nil && !c.in.MayAsk(host) {
		c.unresolved(api.ReasonNotAllowed, field, "the host %s is not within guard.externalURLs of a ClusterRoutePolicy for the object; use a Service of the namespace", host)
		return false
	}
	return true
}

// service finds the pods of the auth server.
func (c *compiler) service(out *snapshot.External, s *v1alpha1.AuthService) {
	if path, ok := c.pods("external.service", out, s); ok {
		c.methods = append(c.methods, "external: would ask Service "+cmp.Or(string(s.Namespace), c.in.Namespace)+"/"+string(s.Name)+" at "+path)
	}
}

// pods finds the pods of a Service, and returns the path at them.
func (c *compiler) pods(field string, out *snapshot.External, s *v1alpha1.AuthService) (path string, ok bool) {
	port := ""
	if s.Port != nil {
		port = s.Port.String()
	}
	if path = s.Path; path == "" {
		path = "/"
	}
	switch {
	case !objectName(string(s.Name)):
		c.close(field+".name", "%q is not the name of a Service", s.Name)
		return "", false
	case s.Namespace != "" && !namespaceText.MatchString(string(s.Namespace)):
		c.close(field+".namespace", "%q is not the name of a namespace", s.Namespace)
		return "", false
	case port != "" && !portText.MatchString(port):
		c.close(field+".port", "%q is neither the name nor the number of a port", port)
		return "", false
	case !pathText().MatchString(path) || strings.Contains(path, "#"):
		c.close(field+".path", "must be a path of visible ASCII characters that begins with /")
		return "", false
	}
	endpoints, err := c.in.References.Endpoints(policy.Named(s.Namespace, s.Name), port)
	switch {
	case unknown(err):
	case err != nil:
		c.unresolved(policy.ReasonOf(err, api.ReasonServiceNotFound), field, "%s", err)
		return "", false
	case len(endpoints) > 0:
		port = strconv.Itoa(int(endpoints[0].Port()))
	}
	out.Endpoints = endpoints
	// Connections are kept by this name, so the port is part of it.
	u := "http://"
	if s.TLS {
		u = "https://"
	}
	u += string(s.Name) + "." + cmp.Or(string(s.Namespace), c.in.Namespace) + ".svc"
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		u += ":" + port
	}
	out.URL = u + path
	if _, err := url.Parse(out.URL); err != nil {
		c.close(field+".path", "is not a path: its %% signs must begin an escape")
		return "", false
	}
	return path, true
}

func (c *compiler) signIn(out *snapshot.External, s *v1alpha1.SignIn) {
	if s == nil {
		return
	}
	u, err := url.Parse(s.URL)
	if !urlText().MatchString(s.URL) || err != nil || u.Host == "" || u.User != nil {
		c.close("external.signIn.url", "must be a URL of http or https with a host")
		return
	}
	if s.Param != "" && !paramText.MatchString(s.Param) {
		c.close("external.signIn.param", "must consist of letters, digits and . _ ~ -")
		return
	}
	out.SignIn = &snapshot.SignIn{URL: s.URL, Param: s.Param}
}

func (c *compiler) cache(out *snapshot.External, a *v1alpha1.AuthCache) {
	if a == nil {
		return
	}
	out.Cache = snapshot.Cache{
		TTL: c.duration("external.cache.ttl", a.TTL, 0, longestTTL), Negative: c.duration("external.cache.negative", a.Negative, 0, 10*time.Second),
		Key: slices.Clone(a.Key),
	}
	if len(a.Key) > mostKeys {
		c.close("external.cache.key", "has %d names; at most %d are possible", len(a.Key), mostKeys)
	}
	for _, k := range a.Key {
		if name := strings.TrimPrefix(k, "Cookie:"); !model.HeaderName(name) || name == k && !credential(k) {
			c.close("external.cache.key", "answers cannot be kept by %q: use Authorization, Cookie:NAME, or a header that holds a credential", k)
			return
		}
	}
}
