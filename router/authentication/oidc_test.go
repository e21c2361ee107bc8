package authentication_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
)

// TestOIDC: what a login says becomes what the agent reads, or closes with its field.
func TestOIDC(t *testing.T) {
	t.Parallel()
	o := world()
	o.secrets["client"] = map[string][]byte{"client-secret": []byte("s3cret\n")}
	o.secrets["odd"] = map[string][]byte{"client-secret": []byte("a\tb")}
	for _, tt := range []struct {
		name   string
		change func(*v1alpha1.OIDCAuthentication)
		path   string
		exact  bool
		// field is that of the first problem that closes, or empty; want stands in the policy.
		field, want string
	}{
		{name: "defaults", want: `"redirectPath":"/oauth2/callback","logoutPath":"/oauth2/logout"`},
		{name: "a path", path: "/app/", want: `"redirectPath":"/app/oauth2/callback","logoutPath":"/app/oauth2/logout"`},
		{name: "an exact path", path: "/app", exact: true, field: "oidc.redirectPath"},
		{name: "a client with a password", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientSecret = "client" }, want: `"clientSecret":"s3cret"`},
		{name: "no such Secret", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientSecret = "none" }, field: "oidc.clientSecret"},
		{name: "a Secret without the key", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientSecret = "empty" }, field: "oidc.clientSecret"},
		{name: "a password with a tab", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientSecret = "odd" }, field: "oidc.clientSecret"},
		{name: "a Secret that is not known", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientSecret = "hidden" }},
		{name: "http", change: func(x *v1alpha1.OIDCAuthentication) { x.Issuer = "http://a.login.test/" }, field: "oidc.issuer"},
		{name: "a host that is not allowed", change: func(x *v1alpha1.OIDCAuthentication) { x.Issuer = "https://evil.test/" }, field: "oidc.issuer"},
		{name: "loopback", change: func(x *v1alpha1.OIDCAuthentication) { x.Issuer = "https://127.0.0.1/" }, field: "oidc.issuer"},
		{name: "a query", change: func(x *v1alpha1.OIDCAuthentication) { x.Issuer = "https://a.login.test/?x" }, field: "oidc.issuer"},
		{name: "no client", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientID = "" }, field: "oidc.clientID"},
		{name: "a line in the client", change: func(x *v1alpha1.OIDCAuthentication) { x.ClientID = "a\r\nb" }, field: "oidc.clientID"},
		{name: "another path", path: "/app", change: func(x *v1alpha1.OIDCAuthentication) { x.RedirectPath = "/oauth2/callback" }, field: "oidc.redirectPath"},
		{name: "a path beside it", path: "/app", change: func(x *v1alpha1.OIDCAuthentication) { x.RedirectPath = "/application/cb" }, field: "oidc.redirectPath"},
		{name: "dots in a path", path: "/app", change: func(x *v1alpha1.OIDCAuthentication) { x.LogoutPath = "/app/../out" }, field: "oidc.logoutPath"},
		{name: "one path for both", change: func(x *v1alpha1.OIDCAuthentication) { x.LogoutPath = "/oauth2/callback" }, field: "oidc.logoutPath"},
		{name: "where logouts are reported", change: func(x *v1alpha1.OIDCAuthentication) { x.RedirectPath = "/oauth2/logout/backchannel" }, field: "oidc.redirectPath"},
		{name: "a path of its own", path: "/app", change: func(x *v1alpha1.OIDCAuthentication) { x.RedirectPath = "/app/cb" }, want: `"redirectPath":"/app/cb"`},
		{name: "afterwards elsewhere by http", change: func(x *v1alpha1.OIDCAuthentication) { x.PostLogoutRedirect = "http://a/" }, field: "oidc.postLogoutRedirect"},
		{name: "afterwards at another host", change: func(x *v1alpha1.OIDCAuthentication) { x.PostLogoutRedirect = "//evil.test/" }, field: "oidc.postLogoutRedirect"},
		{name: "an odd word", change: func(x *v1alpha1.OIDCAuthentication) { x.Login = "redirect" }, field: "oidc.login"},
		{name: "plain PKCE", change: func(x *v1alpha1.OIDCAuthentication) { x.PKCE = "plain" }, field: "oidc.pkce"},
		{name: "a scope with a space", change: func(x *v1alpha1.OIDCAuthentication) { x.Scopes = []string{"a b"} }, field: "oidc.scopes[0]"},
		{name: "an empty audience", change: func(x *v1alpha1.OIDCAuthentication) { x.Audiences = []string{""} }, field: "oidc.audiences[0]"},
		{name: "a cookie with attributes", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{Name: "a;b"} }, field: "oidc.cookie.name"},
		{name: "another domain", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{Domain: "evil.test"} }, field: "oidc.cookie.domain"},
		{name: "the domain", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{Domain: "example.com"} }, want: `"domain":"example.com"`},
		{name: "a day", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{MaxAge: "24h"} }, field: "oidc.cookie.maxAge"},
		{name: "idle for longer than it lives", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{MaxAge: "1h", Idle: "2h"} }, field: "oidc.cookie.idle"},
		{name: "short", change: func(x *v1alpha1.OIDCAuthentication) { x.Cookie = &v1alpha1.SessionCookie{MaxAge: "30m"} }, want: `"maxAge":1800000000000,"idle":1800000000000`},
		{name: "a header of the router", change: func(x *v1alpha1.OIDCAuthentication) {
			x.ClaimsToHeaders = []v1alpha1.ClaimHeader{{Claim: "sub", Header: "X-Forwarded-For"}}
		}, field: "oidc.claimsToHeaders[0].header"},
		{name: "Cookie", change: func(x *v1alpha1.OIDCAuthentication) { x.Forward = &v1alpha1.ForwardTokens{IDToken: "Cookie"} }, field: "oidc.forward.idToken"},
		{name: "one header twice", change: func(x *v1alpha1.OIDCAuthentication) {
			x.Forward = &v1alpha1.ForwardTokens{IDToken: "X-Token", AccessToken: "x-token"}
		}, field: "oidc.forward"},
		{name: "an encoded path", change: func(x *v1alpha1.OIDCAuthentication) { x.Skip = []string{"/a", "/%61"} }, field: "oidc.skip[1]"},
		{name: "an endpoint elsewhere", change: func(x *v1alpha1.OIDCAuthentication) {
			x.Endpoints = &v1alpha1.OIDCEndpoints{Token: "https://evil.test/"}
		}, field: "oidc.endpoints.token"},
	} {
		x := &v1alpha1.OIDCAuthentication{Issuer: "https://a.login.test/", ClientID: "shop"}
		if tt.change != nil {
			tt.change(x)
		}
		r, problems := authentication.Compile(authentication.Input{
			Spec: &v1alpha1.Authentication{OIDC: x}, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: o,
			Host: "shop.example.com", Path: tt.path, Exact: tt.exact, MayAsk: func(host string) bool { return strings.HasSuffix(host, ".login.test") },
		})
		switch {
		case tt.field == "" && r.Agent == nil:
			t.Errorf("%s: %v", tt.name, problems)
		case tt.field == "" && !strings.Contains(r.Agent.Policy, tt.want):
			t.Errorf("%s: %s", tt.name, r.Agent.Policy)
		case tt.field == "" && (r.Agent.Credentials != "s" || !strings.Contains(r.Agent.Methods, "oidc: login at https://a.login.test/ as shop")):
			t.Errorf("%s: %+v", tt.name, r.Agent)
		case tt.field != "" && (r.Agent != nil || len(problems) == 0 || problems[0].Field != tt.field):
			t.Errorf("%s: %v", tt.name, problems)
		}
		if r.Agent == nil {
			continue
		}
		var p snapshot.Policy
		if err := json.Unmarshal([]byte(r.Agent.Policy), &p); err != nil || p.OIDC.Cookie.MaxAge <= 0 || p.OIDC.Cookie.Idle <= 0 {
			t.Errorf("%s: %v, %+v", tt.name, err, p.OIDC)
		}
	}
	if names := authentication.Secrets(&v1alpha1.Authentication{OIDC: &v1alpha1.OIDCAuthentication{ClientSecret: "a", CASecret: "b"}}); len(names) != 2 {
		t.Errorf("Secrets: %v", names)
	}
}
