// Command fosite is a provider made of github.com/ory/fosite, the library of Ory Hydra. It
// differs from the one of test/tools/openid in what providers differ in: its issuer has a path;
// clients send their password in the body only; tokens are signed by ES256, with keys that are
// replaced by POST /rotate; ID tokens have several audiences, and groups as one text, and
// the address is in the userinfo only; refresh tokens are used once; and there is no
// end_session_endpoint, nor an iss parameter. Its user is ann with the password verysecure.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
	"golang.org/x/crypto/bcrypt"
)

const (
	client   = "shop"
	secret   = "s3cret of the+shop"
	path     = "/realms/demo"
	audience = "https://api.demo.test"
)

// keys sign with the last one.
type keys struct {
	mu  sync.Mutex
	all []*ecdsa.PrivateKey
}

func (k *keys) rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, key)
	return nil
}

func (k *keys) last() (*ecdsa.PrivateKey, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[len(k.all)-1], fmt.Sprint("key-", len(k.all))
}

// set is the last two: keys that signed before these verify nothing any more.
func (k *keys) set() (s jose.JSONWebKeySet) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := max(0, len(k.all)-2); i < len(k.all); i++ {
		s.Keys = append(s.Keys, jose.JSONWebKey{Key: k.all[i].Public(), KeyID: fmt.Sprint("key-", i+1), Algorithm: "ES256", Use: "sig"})
	}
	return s
}

// signer says in each token which key has signed it.
type signer struct {
	jwt.Signer
	keys *keys
}

// Generate implements jwt.Signer.
func (s signer) Generate(ctx context.Context, claims jwt.MapClaims, _ jwt.Mapper) (string, string, error) {
	key, kid := s.keys.last()
	own := &jwt.DefaultSigner{GetPrivateKey: func(context.Context) (any, error) { return key, nil }}
	return own.Generate(ctx, claims, &jwt.Headers{Extra: map[string]any{"kid": kid}})
}

type provider struct {
	issuer string
	keys   *keys
	fosite.OAuth2Provider
}

func newProvider(issuer, redirect string) (*provider, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.MinCost)
	if err != nil {
		return nil, err
	}
	store := storage.NewMemoryStore()
	store.Clients[client] = &fosite.DefaultOpenIDConnectClient{
		DefaultClient: &fosite.DefaultClient{
			ID: client, Secret: hash, RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, Scopes: []string{"openid", "email", "offline_access"},
		},
		TokenEndpointAuthMethod: "client_secret_post",
	}
	global := make([]byte, 32)
	if _, err := rand.Read(global); err != nil {
		return nil, err
	}
	c := &fosite.Config{
		GlobalSecret: global, IDTokenIssuer: issuer, EnforcePKCE: true, AccessTokenLifespan: 2 * time.Second, IDTokenLifespan: 2 * time.Second,
		RefreshTokenLifespan: time.Hour,
	}
	p := &provider{issuer: issuer, keys: &keys{}}
	if err := p.keys.rotate(); err != nil {
		return nil, err
	}
	getter := func(context.Context) (any, error) {
		key, _ := p.keys.last()
		return key, nil
	}
	s := signer{&jwt.DefaultSigner{GetPrivateKey: getter}, p.keys}
	p.OAuth2Provider = compose.Compose(c, store, &compose.CommonStrategy{
		CoreStrategy: compose.NewOAuth2HMACStrategy(c), OpenIDConnectTokenStrategy: &openid.DefaultStrategy{Signer: s, Config: c}, Signer: s,
	}, compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2RefreshTokenGrantFactory, compose.OpenIDConnectExplicitFactory, compose.OpenIDConnectRefreshFactory,
		compose.OAuth2TokenIntrospectionFactory, compose.OAuth2TokenRevocationFactory, compose.OAuth2PKCEFactory)
	return p, nil
}

func (p *provider) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+path+"/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token", "jwks_uri": p.issuer + "/keys",
			"userinfo_endpoint": p.issuer + "/userinfo", "revocation_endpoint": p.issuer + "/revoke", "token_endpoint_auth_methods_supported": []string{"client_secret_post"},
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"openid", "email", "offline_access"},
		})
	})
	m.HandleFunc("GET "+path+"/keys", func(w http.ResponseWriter, _ *http.Request) { reply(w, p.keys.set()) })
	m.HandleFunc(path+"/authorize", p.authorize)
	m.HandleFunc("POST "+path+"/token", p.token)
	m.HandleFunc("POST "+path+"/revoke", func(w http.ResponseWriter, r *http.Request) {
		err := p.NewRevocationRequest(r.Context(), r)
		if err == nil {
			slog.Info("revoked")
		}
		p.WriteRevocationResponse(r.Context(), w, err)
	})
	m.HandleFunc("GET "+path+"/userinfo", func(w http.ResponseWriter, r *http.Request) {
		_, who, err := p.IntrospectToken(r.Context(), fosite.AccessTokenFromRequest(r), fosite.AccessToken, &openid.DefaultSession{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		reply(w, map[string]any{"sub": who.GetSession().GetSubject(), "email": "ann@demo.test"})
	})
	m.HandleFunc("POST /rotate", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.keys.rotate(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return m
}

// authorize asks for the password, and grants what the client asks for.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	ar, err := p.NewAuthorizeRequest(ctx, r)
	switch {
	case err != nil:
		p.WriteAuthorizeError(ctx, w, ar, err)
		return
	case r.PostFormValue("username") != "ann" || r.PostFormValue("password") != "verysecure":
		_, _ = fmt.Fprint(w, `<form method="post"><input name="username"><input name="password" type="password"><button>Log in</button></form>`)
		return
	}
	for _, scope := range ar.GetRequestedScopes() {
		ar.GrantScope(scope)
	}
	now := time.Now().UTC()
	answer, err := p.NewAuthorizeResponse(ctx, ar, &openid.DefaultSession{
		Subject: "ann", Username: "ann", Headers: &jwt.Headers{},
		Claims: &jwt.IDTokenClaims{Issuer: p.issuer, Subject: "ann", Audience: []string{audience}, RequestedAt: now, AuthTime: now, Extra: map[string]any{"groups": "staff", "azp": client}},
	})
	if err != nil {
		p.WriteAuthorizeError(ctx, w, ar, err)
		return
	}
	p.WriteAuthorizeResponse(ctx, w, ar, answer)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	tr, err := p.NewAccessRequest(ctx, r, &openid.DefaultSession{Claims: &jwt.IDTokenClaims{}, Headers: &jwt.Headers{}})
	var answer fosite.AccessResponder
	if err == nil {
		answer, err = p.NewAccessResponse(ctx, tr)
	}
	if err != nil {
		slog.Warn("refused", "grant", r.PostFormValue("grant_type"), "err", fosite.ErrorToRFC6749Error(err).WithExposeDebug(true).GetDescription())
		p.WriteAccessError(ctx, w, tr, err)
		return
	}
	slog.Info("granted", "grant", r.PostFormValue("grant_type"))
	p.WriteAccessResponse(ctx, w, tr, answer)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func main() {
	listen := flag.String("listen", "", "`address` with port to listen on")
	redirect := flag.String("redirect", "", "redirect `URI` of the client")
	certificate := flag.String("certificate", "", "PEM `file` with certificate and key")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	p, err := newProvider("https://"+*listen+path, *redirect)
	if err == nil {
		s := &http.Server{Addr: *listen, ReadHeaderTimeout: 10 * time.Second, Handler: p.handler()}
		err = s.ListenAndServeTLS(*certificate, *certificate)
	}
	slog.Error("ended", "err", err)
	os.Exit(1)
}
