// Package openid is an OpenID provider for tests, with the contract of OpenID Connect Core
// and RFC 9700: codes are used once, PKCE is demanded, refresh tokens rotate, one that comes again
// ends all that descend from the same login, clients show their password. Users are logged in without being asked. Faults can be switched on.
package openid

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client that the provider knows.
const (
	ClientID     = "shop"
	ClientSecret = "s3cret of the+shop"
)

// Provider is a running one. Its fields are changed by Set only.
type Provider struct {
	*httptest.Server
	mu sync.Mutex
	Options

	key       *ecdsa.PrivateKey
	kid       string
	codes     map[string]grant
	refreshes map[string]grant
	// used are refresh tokens that were replaced, with their logins, and reused is how often one of
	// them came again.
	used map[string]int
	// access is the newest access token.
	access string
	reused int
	logins int
	asked  map[string]int
}

// Options say how the provider behaves.
type Options struct {
	// Issuer is what tokens and the discovery document say; default is the server's address.
	Issuer string
	// Now is the clock of tokens.
	Now func() time.Time
	// Life is how long tokens are valid; default is 5m.
	Life time.Duration
	// NoRefresh gives no refresh tokens, and KeepRefresh the same ones again.
	NoRefresh, KeepRefresh bool
	// Claims changes the claims of ID tokens.
	Claims func(map[string]any)
	// Answer changes the answer of the token endpoint, Discovery the document, and Back what
	// browsers bring back.
	Answer, Discovery func(map[string]any)
	Back              func(url.Values)
	// UserInfo changes what the userinfo endpoint says; nil has none.
	UserInfo func(map[string]any)
	// Fault answers in place of the provider if it returns true.
	Fault func(http.ResponseWriter, *http.Request) bool
	// ByBody takes the client's password in the body only; Public demands none.
	ByBody, Public bool
}

// grant is what a code or a refresh token stands for.
type grant struct {
	redirect, nonce, challenge, scope string
	login                             int
}

// New starts a provider on the loopback interface, or at another address.
func New(t testing.TB, address ...string) *Provider {
	t.Helper()
	p := &Provider{codes: map[string]grant{}, refreshes: map[string]grant{}, used: map[string]int{}, asked: map[string]int{}}
	p.Now, p.Life = time.Now, 5*time.Minute
	p.Rotate(t, "one")
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	if len(address) > 0 {
		p.at(t, address[0])
	}
	p.StartTLS()
	p.Issuer = p.URL
	t.Cleanup(p.Close)
	return p
}

// at has the provider listen at an address, with a certificate for it.
func (p *Provider) at(t testing.TB, address string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Listener.Close()
	p.Listener = l
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(address)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, p.key.Public(), p.key)
	if err != nil {
		t.Fatal(err)
	}
	p.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: p.key}}, MinVersion: tls.VersionTLS12}
}

// Rotate replaces the key that tokens are signed with.
func (p *Provider) Rotate(t testing.TB, kid string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = key, kid
}

// Set changes how the provider behaves.
func (p *Provider) Set(change func(*Options)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.Options)
}

// CA is the PEM of the certificate of the server.
func (p *Provider) CA() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))
}

// Asked returns how often a path was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Reused returns how often a refresh token came that had been replaced.
func (p *Provider) Reused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reused
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.URL.Path]++
	fault := p.Fault
	p.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.discovery(w)
	case "/keys":
		reply(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.kid, Algorithm: "ES256", Use: "sig"}}})
	case "/authorize":
		p.authorize(w, r)
	case "/token":
		p.token(w, r)
	case "/userinfo":
		p.userInfo(w, r)
	case "/revoke":
		delete(p.refreshes, r.PostFormValue("token"))
	case "/logout":
		_, _ = fmt.Fprintln(w, "logged out")
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) discovery(w http.ResponseWriter) {
	method := "client_secret_basic"
	if p.ByBody {
		method = "client_secret_post"
	}
	d := map[string]any{
		"issuer": p.Issuer, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"end_session_endpoint": p.URL + "/logout", "revocation_endpoint": p.URL + "/revoke", "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{method},
	}
	if p.UserInfo != nil {
		d["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	if p.Discovery != nil {
		p.Discovery(d)
	}
	reply(w, http.StatusOK, d)
}

func token() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// authorize logs the user in, and sends the browser back.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != ClientID || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 ||
		!strings.Contains(q.Get("scope"), "openid") || len(q.Get("state")) < 22 || len(q.Get("nonce")) < 22 || !strings.HasPrefix(q.Get("redirect_uri"), "https://") {
		http.Error(w, "not a login that is allowed: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := token()
	p.logins++
	p.codes[code] = grant{q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge"), q.Get("scope"), p.logins}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.Issuer}}
	if p.Back != nil {
		p.Back(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func refused(w http.ResponseWriter, status int, code string) {
	reply(w, status, map[string]string{"error": code})
}

// knows checks the client's password.
func (p *Provider) knows(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if p.Public {
		return id == ClientID && secret == ""
	}
	return basic != p.ByBody && id == ClientID && subtle.ConstantTimeCompare([]byte(secret), []byte(ClientSecret)) == 1
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !p.knows(r) {
		refused(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	var g grant
	known := false
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		g, known = p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		known = known && g.redirect == r.PostFormValue("redirect_uri") && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		g, known = p.refresh(r.PostFormValue("refresh_token"))
	}
	if !known {
		refused(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	p.grant(w, g)
}

// LogoutToken says that a user has logged out (OpenID Connect Back-Channel Logout 1.0, section 2.4). The
// claims and the type can be changed.
func (p *Provider) LogoutToken(typ string, change func(map[string]any)) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	claims := map[string]any{
		"iss": p.Issuer, "sub": "alice", "aud": ClientID, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(), "jti": token(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	if change != nil {
		change(claims)
	}
	return p.signAs(jose.ContentType(typ), claims)
}

// refresh takes a refresh token. One that was replaced ends those that replaced it.
func (p *Provider) refresh(token string) (g grant, known bool) {
	if login, used := p.used[token]; used {
		p.reused++
		maps.DeleteFunc(p.refreshes, func(_ string, other grant) bool { return other.login == login })
		return g, false
	}
	if g, known = p.refreshes[token]; known && !p.KeepRefresh {
		delete(p.refreshes, token)
		p.used[token] = g.login
	}
	g.nonce = ""
	return g, known
}

func (p *Provider) grant(w http.ResponseWriter, g grant) {
	access := token()
	p.access = access
	sum := sha256.Sum256([]byte(access))
	now := p.Now()
	claims := map[string]any{
		"iss": p.Issuer, "sub": "alice", "aud": ClientID, "exp": now.Add(p.Life).Unix(), "iat": now.Unix(),
		"at_hash": base64.RawURLEncoding.EncodeToString(sum[:16]), "groups": []string{"staff", "users"}, "email": "alice@example.com",
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	if p.Claims != nil {
		p.Claims(claims)
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(p.Life / time.Second), "id_token": p.sign(claims), "scope": g.scope}
	if !p.NoRefresh {
		refresh := token()
		p.refreshes[refresh] = g
		answer["refresh_token"] = refresh
	}
	if p.Answer != nil {
		p.Answer(answer)
	}
	reply(w, http.StatusOK, answer)
}

// userInfo says who has the newest access token.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if p.UserInfo == nil || r.Header.Get("Authorization") != "Bearer "+p.access {
		refused(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	claims := map[string]any{"sub": "alice"}
	p.UserInfo(claims)
	reply(w, http.StatusOK, claims)
}

func (p *Provider) sign(claims map[string]any) string {
	return p.signAs("", claims)
}

func (p *Provider) signAs(typ jose.ContentType, claims map[string]any) string {
	text, _ := json.Marshal(claims)
	var options *jose.SignerOptions
	if typ != "" {
		options = (&jose.SignerOptions{}).WithType(typ)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.kid}}, options)
	if err != nil {
		return ""
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return ""
	}
	out, _ := signed.CompactSerialize()
	return out
}
