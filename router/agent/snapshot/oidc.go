package snapshot

import "time"

// SessionKey is a key that cookies of sessions are encrypted with.
type SessionKey struct {
	// Made is when, as Unix time in seconds. A new key is not used for new cookies before
	// all routers have it.
	Made int64 `json:"made"`
	// Secret has 32 bytes.
	Secret []byte `json:"secret"`
}

// OIDC is a login at an OpenID provider.
type OIDC struct {
	Issuer       string   `json:"issuer"`
	ClientID     string   `json:"clientID"`
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	Audiences    []string `json:"audiences,omitempty"`
	// RedirectPath is where the provider sends browsers back to, and LogoutPath ends a
	// session.
	RedirectPath string `json:"redirectPath"`
	LogoutPath   string `json:"logoutPath"`
	// PostLogout is where a browser goes then: a path, an address, or empty.
	PostLogout string `json:"postLogout,omitempty"`
	// Always redirects programs as well, instead of 401.
	Always bool   `json:"always,omitempty"`
	Cookie Cookie `json:"cookie"`
	// Refresh renews sessions by refresh tokens.
	Refresh bool          `json:"refresh,omitempty"`
	Claims  []ClaimHeader `json:"claims,omitempty"`
	// AccessToken and IDToken are the headers that get the tokens, or empty.
	AccessToken string `json:"accessToken,omitempty"`
	IDToken     string `json:"idToken,omitempty"`
	// Skip are paths that need no session, with all below them.
	Skip      []string  `json:"skip,omitempty"`
	Endpoints Endpoints `json:"endpoints"`
	// CA is as in External.
	CA string `json:"ca,omitempty"`
}

// BackChannel follows logoutPath where a provider reports logouts (OpenID Connect Back-Channel
// Logout 1.0).
const BackChannel = "/backchannel"

// Cookie is about the cookies of a session.
type Cookie struct {
	// Name is what follows the prefix; empty is a hash of the policy.
	Name     string `json:"name,omitempty"`
	Domain   string `json:"domain,omitempty"`
	SameSite string `json:"sameSite,omitempty"`
	// MaxAge is the longest session, and Idle ends one that is not used.
	MaxAge time.Duration `json:"maxAge"`
	Idle   time.Duration `json:"idle"`
}

// Endpoints of a provider, in place of those of its discovery document.
type Endpoints struct {
	Authorization string `json:"authorization,omitempty"`
	Token         string `json:"token,omitempty"`
	JWKS          string `json:"jwks,omitempty"`
	EndSession    string `json:"endSession,omitempty"`
	Revocation    string `json:"revocation,omitempty"`
}
