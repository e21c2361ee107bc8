package authentication

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
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
		if !headerText.MatchString(string(name)) {
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
	if x.CASecret != "" {
		if data, ok := c.secret("external.caSecret", x.CASecret); ok && data != nil {
			if out.CA = string(data[caKey]); !certificates(out.CA) {
				c.close("external.caSecret", "Secret %q has no certificates under the key %s", x.CASecret, caKey)
			}
		}
	} else if x.Service.TLS {
		c.close("external.caSecret", "service.tls needs the CA of the server's certificate")
	}
	c.service(out, &x.Service)
	c.out.External = out
}

// service finds the pods of the auth server.
func (c *compiler) service(out *snapshot.External, s *v1alpha1.AuthService) {
	const field = "external.service"
	port := ""
	if s.Port != nil {
		port = s.Port.String()
	}
	path := s.Path
	if path == "" {
		path = "/"
	}
	switch {
	case !objectName(string(s.Name)):
		c.close(field+".name", "%q is not the name of a Service", s.Name)
		return
	case port != "" && !portText.MatchString(port):
		c.close(field+".port", "%q is neither the name nor the number of a port", port)
		return
	case !pathText.MatchString(path) || strings.Contains(path, "#"):
		c.close(field+".path", "must be a path of visible ASCII characters that begins with /")
		return
	}
	endpoints, err := c.in.References.Endpoints(string(s.Name), port)
	switch {
	case unknown(err):
	case err != nil:
		c.close(field, "%s", err)
		return
	case len(endpoints) > 0:
		port = strconv.Itoa(int(endpoints[0].Port()))
	}
	out.Endpoints = endpoints
	// Connections are kept by this name, so the port is part of it.
	u := "http://"
	if s.TLS {
		u = "https://"
	}
	u += string(s.Name) + "." + c.in.Namespace + ".svc"
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		u += ":" + port
	}
	out.URL = u + path
	if _, err := url.Parse(out.URL); err != nil {
		c.close(field+".path", "is not a path: its %% signs must begin an escape")
	}
	c.methods = append(c.methods, "external: would ask Service "+c.in.Namespace+"/"+string(s.Name)+" at "+path)
}

func (c *compiler) signIn(out *snapshot.External, s *v1alpha1.SignIn) {
	if s == nil {
		return
	}
	u, err := url.Parse(s.URL)
	if !urlText.MatchString(s.URL) || err != nil || u.Host == "" || u.User != nil {
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
		if name := strings.TrimPrefix(k, "Cookie:"); !headerText.MatchString(name) || name == k && !credential(k) {
			c.close("external.cache.key", "answers cannot be kept by %q: use Authorization, Cookie:NAME, or a header that holds a credential", k)
			return
		}
	}
}
