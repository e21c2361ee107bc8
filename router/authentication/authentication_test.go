package authentication_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
)

// objects are those of a namespace.
type objects struct {
	secrets  map[string]map[string][]byte
	services map[string][]netip.AddrPort
}

func (o objects) Secret(name string) (map[string][]byte, error) {
	if data, ok := o.secrets[name]; ok {
		return data, nil
	}
	if name == "hidden" {
		return nil, hidden{errors.New("no right to read it")}
	}
	return nil, errors.New("Secret " + name + " does not exist")
}

func (o objects) Authorities(name string) (string, error) {
	data, err := o.Secret(name)
	return string(data["ca.crt"]), err
}

func (o objects) Endpoints(service, _ string) ([]netip.AddrPort, error) {
	if list, ok := o.services[service]; ok {
		return list, nil
	}
	return nil, errors.New("Service " + service + " does not exist")
}

type hidden struct{ error }

func (hidden) Unknown() bool { return true }

const ann = "ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n"

func world() objects {
	return objects{
		secrets: map[string]map[string][]byte{
			"users": {"auth": []byte(ann)}, "map": {"ann": []byte(strings.TrimSpace(ann[4:]))}, "plain": {"auth": []byte("ann:secretword\n")},
			"some": {"auth": []byte(ann + "bob:abJnggxhB/yWI\n")}, "huge": {"auth": bytes.Repeat([]byte(ann), 40_000)}, "empty": {}, "keys": {"jwks": []byte("{")},
		},
		services: map[string][]netip.AddrPort{"auth": {netip.MustParseAddrPort("10.1.2.3:8080")}, "idle": nil},
	}
}

func compile(a *v1alpha1.Authentication, o objects) (*model.Agent, []authentication.Problem) {
	r, problems := authentication.Compile(authentication.Input{
		Spec: a, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: o,
		MayAsk: func(host string) bool { return strings.HasSuffix(host, ".login.test") },
	})
	return r.Agent, problems
}

func address(url string) *v1alpha1.Authentication {
	return &v1alpha1.Authentication{External: &v1alpha1.ExternalAuthentication{URL: url}}
}

func fetched(uri string) *v1alpha1.Authentication {
	return &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{Issuers: []v1alpha1.JWTIssuer{{Issuer: "i", JWKS: &v1alpha1.RemoteKeys{URI: uri}}}}}
}

func basic(secret string) *v1alpha1.Authentication {
	return &v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{Secret: v1alpha1.ObjectReference(secret)}}
}

func external(change func(*v1alpha1.ExternalAuthentication)) *v1alpha1.Authentication {
	x := &v1alpha1.ExternalAuthentication{Service: &v1alpha1.AuthService{Name: "auth", Path: "/check"}}
	change(x)
	return &v1alpha1.Authentication{External: x}
}

// TestCompile: what cannot be used closes, with its field and a cause; what can names
// what is asked.
func TestCompile(t *testing.T) {
	t.Parallel()
	port := intstr.FromString("ht tp")
	for name, tt := range map[string]struct {
		spec    *v1alpha1.Authentication
		methods string // of a policy that can be used
		problem string // field and message
	}{
		"a file of users":       {spec: basic("users"), methods: "basic: users of Secret demo/users"},
		"a map of users":        {spec: basic("map"), methods: "basic: users of Secret demo/map"},
		"some users":            {spec: basic("some"), methods: "basic: users of Secret demo/some", problem: "basic.secret Secret \"some\": 1 lines need attention: user bob: DES"},
		"unknown Secret":        {spec: basic("hidden"), methods: "basic: users of Secret demo/hidden"},
		"no method":             {spec: &v1alpha1.Authentication{}, problem: " names no method"},
		"no Secret":             {spec: basic("none"), problem: "basic.secret Secret none does not exist"},
		"no name":               {spec: basic(""), problem: "basic.secret \"\" is not the name"},
		"a name of two lines":   {spec: basic("users\nx"), problem: "basic.secret \"users\\nx\" is not the name"},
		"only weak hashes":      {spec: basic("plain"), problem: "basic.secret Secret \"plain\" has no usable user"},
		"an empty Secret":       {spec: basic("empty"), problem: "basic.secret Secret \"empty\" has no usable user"},
		"too many users":        {spec: basic("huge"), problem: "basic.secret Secret \"huge\" has"},
		"a realm of two lines":  {spec: &v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{Secret: "users", Realm: "a\r\nb"}}, problem: "basic.realm must be"},
		"a user as Host":        {spec: &v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{Secret: "users", ForwardUser: "host"}}, problem: "basic.forwardUser header host belongs"},
		"a server":              {spec: external(func(*v1alpha1.ExternalAuthentication) {}), methods: "external: would ask Service demo/auth at /check"},
		"a server without pods": {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.Name = "idle" }), methods: "external: would ask Service demo/idle at /check"},
		"no server":             {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.Name = "none" }), problem: "external.service Service none does not exist"},
		"a port of two words":   {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.Port = &port }), problem: "external.service.port"},
		"a path of two lines":   {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.Path = "/a\r\nHost: b" }), problem: "external.service.path must be"},
		"TLS without CA":        {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.TLS = true }), problem: "external.caSecret service.tls needs"},
		"a CA that is none":     {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Service.TLS, x.CASecret = true, "users" }), problem: "external.caSecret Secret \"users\" has no certificates"},
		"a length as a header":  {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.ResponseHeaders = []v1alpha1.HeaderName{"Content_Length"} }), problem: "external.responseHeaders[0] header Content_Length belongs"},
		"an address by header":  {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.ResponseHeaders = []v1alpha1.HeaderName{"X-Forwarded-For"} }), problem: "external.responseHeaders[0] header X-Forwarded-For belongs"},
		"a long timeout":        {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Timeout = "6s" }), problem: "external.timeout \"6s\" is not"},
		"kept by the address": {spec: external(func(x *v1alpha1.ExternalAuthentication) {
			x.Cache = &v1alpha1.AuthCache{TTL: "1m", Key: []string{"X-Real-IP"}}
		}), problem: "external.cache.key answers cannot be kept"},
		"kept for a day":        {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.Cache = &v1alpha1.AuthCache{TTL: "24h"} }), problem: "external.cache.ttl"},
		"a sign-in with a user": {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.SignIn = &v1alpha1.SignIn{URL: "https://a:b@c/"} }), problem: "external.signIn.url must be"},
		"keys that are none":    {spec: &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{Issuers: []v1alpha1.JWTIssuer{{Issuer: "i", Secret: "keys"}}}}, problem: "jwt.issuers[0].secret Secret \"keys\", key jwks"},
		"any of two": {spec: &v1alpha1.Authentication{
			Satisfy: "Any", Basic: &v1alpha1.BasicAuthentication{Secret: "users"}, External: &v1alpha1.ExternalAuthentication{Service: &v1alpha1.AuthService{Name: "auth"}},
		}, methods: "any of: basic: users of Secret demo/users; external: would ask Service demo/auth at /"},
		"some of two": {spec: &v1alpha1.Authentication{Satisfy: "Some", Basic: &v1alpha1.BasicAuthentication{Secret: "users"}}, problem: "satisfy must be All or Any"},
		"any, and a token that need not be": {spec: &v1alpha1.Authentication{Satisfy: "Any", JWT: &v1alpha1.JWTAuthentication{
			Optional: true, Issuers: []v1alpha1.JWTIssuer{{Issuer: "i", Secret: "hidden"}},
		}}, problem: "jwt.optional would admit each request"},
		"a URL":                  {spec: address("https://auth.login.test/check"), methods: "external: would ask https://auth.login.test/check"},
		"a URL beyond the guard": {spec: address("https://login.test/"), problem: "external.url the host login.test is not within guard.externalURLs"},
		"a URL with a port":      {spec: address("http://A.login.TEST.:8080/"), methods: "external: would ask http://A.login.TEST.:8080/"},
		"a URL of the cloud":     {spec: address("http://169.254.169.254/"), problem: "external.url 169.254.169.254 is an address that the router never asks"},
		"a URL of the pod":       {spec: address("http://[::1]:8080/"), problem: "external.url ::1 is an address"},
		"a URL with a user":      {spec: address("http://a.login.test@evil.test/"), problem: "external.url must be an address"},
		"no URL":                 {spec: address("ftp://a.login.test/"), problem: "external.url must be an address"},
		"URL and Service":        {spec: external(func(x *v1alpha1.ExternalAuthentication) { x.URL = "https://a.login.test/" }), problem: "external must have one of service and url"},
		"keys from a URL":        {spec: fetched("https://a.login.test/keys"), methods: "jwt: tokens of i"},
		"keys in clear":          {spec: fetched("http://a.login.test/keys"), problem: "jwt.issuers[0].jwks.uri must be an address with https://"},
		"keys of another":        {spec: fetched("https://evil.test/keys"), problem: "jwt.issuers[0].jwks.uri the host evil.test is not within"},
		"keys from nowhere":      {spec: &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{Issuers: []v1alpha1.JWTIssuer{{Issuer: "i"}}}}, problem: "jwt.issuers[0] must have one of secret and jwks"},
		"no issuer":              {spec: &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{}}, problem: "jwt.issuers must have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent, problems := compile(tt.spec, world())
			text := ""
			for _, p := range problems {
				text += p.Field + " " + p.Message + "\n"
				if strings.Contains(p.Message, "secretword") {
					t.Errorf("a message has what a Secret holds: %s", p.Message)
				}
			}
			if !strings.Contains(text, tt.problem) || tt.problem == "" && text != "" {
				t.Errorf("problems:\n%swant %q", text, tt.problem)
			}
			switch {
			case (agent != nil) != (tt.methods != ""):
				t.Errorf("a policy: %v, with problems:\n%s", agent != nil, text)
			case agent != nil && agent.Methods != tt.methods:
				t.Errorf("methods %q", agent.Methods)
			}
		})
	}
}

// TestIdentity: the ID changes with what is demanded and with the route of an auth
// server, and stays when its pods change, which the policy itself tells.
func TestIdentity(t *testing.T) {
	t.Parallel()
	of := func(a *v1alpha1.Authentication, route string, o objects) *model.Agent {
		r, problems := authentication.Compile(authentication.Input{
			Spec: a, Route: model.Object{Kind: "Route", Namespace: "demo", Name: route}, Namespace: "demo", References: o,
		})
		if r.Agent == nil {
			t.Fatal(problems)
		}
		return r.Agent
	}
	moved := world()
	moved.services["auth"] = []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:8080")}
	rotated := world()
	rotated.secrets["users"] = map[string][]byte{"auth": []byte(ann + "# rotated\n")}
	asks := external(func(*v1alpha1.ExternalAuthentication) {})
	a, b, c := of(asks, "a", world()), of(asks, "b", world()), of(asks, "a", moved)
	if a.ID == b.ID || a.Content != b.Content {
		t.Error("routes share the verdicts of an auth server, which may judge by the route")
	}
	if a.ID != c.ID || a.Policy == c.Policy {
		t.Error("other pods of an auth server make another policy")
	}
	if of(basic("users"), "a", world()).ID != of(basic("users"), "b", world()).ID {
		t.Error("two routes with the same users have two policies")
	}
	if of(basic("users"), "a", world()).ID == of(basic("users"), "a", rotated).ID {
		t.Error("verdicts about former users are used for new ones")
	}
	encoded, err := snapshot.Join(7, snapshot.Surroundings{Networks: snapshot.Networks{Forbidden: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}, []string{a.Policy, of(basic("users"), "a", world()).Policy})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Decode(encoded)
	if err != nil || s.Generation != 7 || len(s.Policies) != 2 || s.Policies[0].ID != a.ID || !s.Policies[0].External.ByEndpoints || len(s.Forbidden) != 1 || s.ByEndpoints {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestRules: each rule becomes one of the agent's, and one that could never hold, or is
// written in a way in which no path comes, closes.
func TestRules(t *testing.T) {
	t.Parallel()
	when := func(change func(*v1alpha1.AuthorizationMatch)) *v1alpha1.Authorization {
		m := &v1alpha1.AuthorizationMatch{}
		change(m)
		return &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{Action: "Allow", When: m}}}
	}
	path := func(value, kind string) *v1alpha1.Authorization {
		return when(func(m *v1alpha1.AuthorizationMatch) { m.Paths = []v1alpha1.PathMatch{{Value: value, Type: kind}} })
	}
	for name, tt := range map[string]struct {
		spec    *v1alpha1.Authentication
		rules   *v1alpha1.Authorization
		problem string
	}{
		"methods and networks": {rules: when(func(m *v1alpha1.AuthorizationMatch) {
			m.Methods, m.CIDRs = []string{"GET"}, []v1alpha1.CIDR{"10.0.0.0/8"}
		})},
		"consumers of basic":   {spec: basic("users"), rules: when(func(m *v1alpha1.AuthorizationMatch) { m.Consumers = []string{"ann"} })},
		"a path":               {rules: path("/a b/é", "Exact")},
		"no rules":             {rules: &v1alpha1.Authorization{}, problem: "rules must have 1 to"},
		"no action":            {rules: &v1alpha1.Authorization{Rules: make([]v1alpha1.AuthorizationRule, 1)}, problem: "rules[0].action must be"},
		"another action":       {rules: &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{Action: "allow"}}}, problem: "rules[0].action must be"},
		"consumers of none":    {rules: when(func(m *v1alpha1.AuthorizationMatch) { m.Consumers = []string{"ann"} }), problem: "rules[0].when.consumers asks who"},
		"groups without token": {spec: basic("users"), rules: when(func(m *v1alpha1.AuthorizationMatch) { m.Groups = []string{"a"} }), problem: "rules[0].when asks about claims"},
		"an encoded path":      {rules: path("/%61", ""), problem: "rules[0].when.paths[0].value must be"},
		"a path with dots":     {rules: path("/a/../b", ""), problem: "rules[0].when.paths[0].value must be"},
		"no path":              {rules: path("", ""), problem: "rules[0].when.paths[0].value must be"},
		"a path by regex":      {rules: path("/a", "Regex"), problem: "rules[0].when.paths[0].type must be"},
		"a method in small":    {rules: when(func(m *v1alpha1.AuthorizationMatch) { m.Methods = []string{"get"} }), problem: "rules[0].when.methods[0] must be"},
		"no network":           {rules: when(func(m *v1alpha1.AuthorizationMatch) { m.CIDRs = []v1alpha1.CIDR{"::ffff:10.0.0.1"} }), problem: "rules[0].when.cidrs[0] \"::ffff:10.0.0.1\" is not"},
		"a claim in two ways": {rules: when(func(m *v1alpha1.AuthorizationMatch) {
			m.Claims = []v1alpha1.ClaimMatch{{Name: "a", Exists: true, Prefix: "b"}}
		}), problem: "rules[0].when.claims[0] must have one of"},
		"a header of two lines": {rules: when(func(m *v1alpha1.AuthorizationMatch) { m.Headers = []v1alpha1.HeaderMatch{{Name: "a\r\nb"}} }), problem: "rules[0].when.headers[0].name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, problems := authentication.Compile(authentication.Input{
				Spec: tt.spec, Rules: tt.rules, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: world(),
			})
			text := ""
			for _, p := range problems {
				text += p.Field + " " + p.Message + "\n"
				if p.Group != "authorization" {
					t.Errorf("a problem of group %q", p.Group)
				}
			}
			if (r.Agent != nil) != (tt.problem == "") || !strings.Contains(text, tt.problem) {
				t.Errorf("a policy: %v, problems:\n%swant %q", r.Agent != nil, text, tt.problem)
			}
		})
	}
}
