package authentication

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/regex"
)

var (
	clientText = regex.Later(`^[!-~]{1,256}$`)
	scopeText  = regex.Later(`^[!#-\[\]-~]{1,128}$`)
	loginPath  = regex.Later(`^/[A-Za-z0-9._~/-]{1,255}$`)
	afterText  = regex.Later(`^(/|https://)[!-~]{0,1000}$`)
	cookieText = regexp.MustCompile(`^[A-Za-z0-9]{1,32}$`)
	domainText = regex.Later(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$`)
)

const (
	// clientSecretKey is where a Secret has the client's password.
	clientSecretKey    = "client-secret"
	longestClientWord  = 1024
	defaultRedirect    = "/oauth2/callback"
	defaultLogout      = "/oauth2/logout"
	defaultSession     = 8 * time.Hour
	longestSession     = 23 * time.Hour
	defaultIdle        = time.Hour
	mostScopes         = 16
	mostSkipped        = 16
	longestSkippedPath = 256
	longestDomain      = 253
)

// oidc reads a login at an OpenID provider.
func (c *compiler) oidc(o *v1alpha1.OIDCAuthentication) {
	out := &snapshot.OIDC{
		Issuer: o.Issuer, ClientID: o.ClientID, Scopes: o.Scopes, Audiences: o.Audiences, Always: o.Login == "Redirect",
		Refresh: o.Refresh == nil || *o.Refresh, CA: c.ca("oidc.caSecret", o.CASecret), PostLogout: o.PostLogoutRedirect, Skip: o.Skip,
	}
	c.address("oidc.issuer", o.Issuer, "https")
	if strings.Contains(o.Issuer, "?") || len(o.Issuer) > 512 {
		c.close("oidc.issuer", "must be an address without query, with 512 bytes at most")
	}
	if !clientText().MatchString(o.ClientID) {
		c.close("oidc.clientID", "must be 1 to 256 visible ASCII characters")
	}
	c.oneOf("oidc.login", o.Login, "Redirect", "401ForXHR")
	c.oneOf("oidc.pkce", o.PKCE, "S256")
	c.words("oidc.scopes", o.Scopes, mostScopes, scopeText().MatchString, "must be a word of visible ASCII characters")
	c.words("oidc.audiences", o.Audiences, mostScopes, func(s string) bool { return s != "" && len(s) <= 512 && visible(s) }, "must have 1 to 512 bytes without control characters")
	out.ClientSecret = c.clientSecret(o)
	c.loginPaths(out, o)
	c.sessionCookie(out, o.Cookie)
	c.loginHeaders(out, o)
	c.loginEndpoints(out, o.Endpoints)
	c.out.OIDC = out
	c.methods = append(c.methods, "oidc: login at "+o.Issuer+" as "+o.ClientID)
}

// clientSecret returns the client's password, or an empty text for a public client.
func (c *compiler) clientSecret(o *v1alpha1.OIDCAuthentication) string {
	if o.ClientSecret == "" {
		return ""
	}
	const field = "oidc.clientSecret"
	data, ok := c.secret(field, o.ClientSecret)
	if !ok || data == nil {
		return ""
	}
	text := strings.TrimRight(string(data[clientSecretKey]), "\r\n")
	if text == "" || len(text) > longestClientWord || !visible(text) {
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has no password under the key %s: 1 to %d bytes without control characters", o.ClientSecret, clientSecretKey, longestClientWord)
		return ""
	}
	return text
}

// loginPaths reads the paths that the login has for itself, which must be the Route's.
func (c *compiler) loginPaths(out *snapshot.OIDC, o *v1alpha1.OIDCAuthentication) {
	base := strings.TrimRight(c.in.Path, "/")
	out.RedirectPath, out.LogoutPath = base+defaultRedirect, base+defaultLogout
	for _, p := range []struct {
		field, text string
		to          *string
	}{{"oidc.redirectPath", o.RedirectPath, &out.RedirectPath}, {"oidc.logoutPath", o.LogoutPath, &out.LogoutPath}} {
		if p.text != "" {
			*p.to = p.text
		}
		normal, same := match.Normal(*p.to)
		switch rest, below := strings.CutPrefix(*p.to, base); {
		case c.in.Exact:
			c.close(p.field, "cannot be below the Route's path %s, which is an exact one; name a path that has others below it", c.in.Path)
		case !loginPath().MatchString(*p.to) || !same || normal != *p.to:
			c.close(p.field, "%q is not a path of letters, digits and . _ ~ - without empty and dot segments", *p.to)
		case !below || rest == "" || rest[0] != '/':
			c.close(p.field, "%s must be below the Route's path %s, because other paths do not come here", *p.to, c.in.Path)
		}
	}
	if out.RedirectPath == out.LogoutPath+snapshot.BackChannel {
		c.close("oidc.redirectPath", "is logoutPath and %s, where the provider reports logouts; name another path", snapshot.BackChannel)
	}
	if out.RedirectPath == out.LogoutPath {
		c.close("oidc.logoutPath", "is the same as redirectPath")
	}
	if o.PostLogoutRedirect != "" && (!afterText().MatchString(o.PostLogoutRedirect) || strings.HasPrefix(o.PostLogoutRedirect, "//")) {
		c.close("oidc.postLogoutRedirect", "must be a path, or an address that begins with https://")
	}
	c.bound("oidc.skip", len(o.Skip), mostSkipped)
	for i, p := range o.Skip {
		if normal, same := match.Normal(p); !same || normal != p || !pathText().MatchString(p) || len(p) > longestSkippedPath || strings.ContainsAny(p, "?#") {
			c.close(fmt.Sprintf("oidc.skip[%d]", i), "must be a path that begins with /, as programs read it: without encoding, empty and dot segments")
		}
	}
}

func (c *compiler) sessionCookie(out *snapshot.OIDC, k *v1alpha1.SessionCookie) {
	out.Cookie = snapshot.Cookie{MaxAge: defaultSession, Idle: defaultIdle}
	if k == nil {
		return
	}
	out.Cookie.Name, out.Cookie.Domain, out.Cookie.SameSite = k.Name, k.Domain, k.SameSite
	if k.Name != "" && !cookieText.MatchString(k.Name) {
		c.close("oidc.cookie.name", "must be 1 to 32 letters and digits")
	}
	if k.Domain != "" && (len(k.Domain) > longestDomain || !domainText().MatchString(k.Domain)) {
		c.close("oidc.cookie.domain", "must be a name with a dot, in lower case")
	}
	if h := c.in.Host; k.Domain != "" && h != "" && strings.TrimPrefix(h, "*.") != k.Domain && !strings.HasSuffix(h, "."+k.Domain) {
		c.close("oidc.cookie.domain", "the Route's host %s is not below %s, so that browsers refuse the cookie", h, k.Domain)
	}
	c.oneOf("oidc.cookie.sameSite", k.SameSite, "Lax", "Strict", "None")
	if k.MaxAge != "" {
		out.Cookie.MaxAge = c.duration("oidc.cookie.maxAge", k.MaxAge, 5*time.Minute, longestSession)
	}
	out.Cookie.Idle = min(defaultIdle, out.Cookie.MaxAge)
	if k.Idle != "" {
		out.Cookie.Idle = c.duration("oidc.cookie.idle", k.Idle, time.Minute, out.Cookie.MaxAge)
	}
}

// loginHeaders reads what the pod gets.
func (c *compiler) loginHeaders(out *snapshot.OIDC, o *v1alpha1.OIDCAuthentication) {
	c.bound("oidc.claimsToHeaders", len(o.ClaimsToHeaders), mostHeaders)
	for i, h := range o.ClaimsToHeaders {
		field := fmt.Sprintf("oidc.claimsToHeaders[%d]", i)
		c.forPod(field+".header", h.Header)
		c.oneOf(field+".as", h.As, "Text", "Base64", "JSON")
		if h.Claim == "" || len(h.Claim) > 256 {
			c.close(field+".claim", "must be the name of a claim")
		}
		out.Claims = append(out.Claims, snapshot.ClaimHeader{Claim: h.Claim, Header: string(h.Header), As: jwt.Form(h.As)})
	}
	if o.Forward == nil {
		return
	}
	out.AccessToken, out.IDToken = string(o.Forward.AccessToken), string(o.Forward.IDToken)
	names := []string{"oidc.forward.accessToken", "oidc.forward.idToken"}
	for i, h := range []v1alpha1.HeaderName{o.Forward.AccessToken, o.Forward.IDToken} {
		if h != "" {
			c.forPod(names[i], h)
		}
	}
	if out.AccessToken != "" && strings.EqualFold(out.AccessToken, out.IDToken) {
		c.close("oidc.forward", "has the same header for both tokens")
	}
	if slices.ContainsFunc(out.Claims, func(h snapshot.ClaimHeader) bool {
		return strings.EqualFold(h.Header, out.AccessToken) || strings.EqualFold(h.Header, out.IDToken)
	}) {
		c.close("oidc.forward", "has a header that claimsToHeaders has, too")
	}
}

func (c *compiler) loginEndpoints(out *snapshot.OIDC, e *v1alpha1.OIDCEndpoints) {
	if e == nil {
		return
	}
	out.Endpoints = snapshot.Endpoints{Authorization: e.Authorization, Token: e.Token, JWKS: e.JWKS, EndSession: e.EndSession, Revocation: e.Revocation}
	for _, p := range []struct{ field, text string }{
		{"authorization", e.Authorization}, {"token", e.Token}, {"jwks", e.JWKS}, {"endSession", e.EndSession}, {"revocation", e.Revocation},
	} {
		if p.text != "" {
			c.address("oidc.endpoints."+p.field, p.text, "https")
		}
	}
}
