package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

var now = time.Unix(1_800_000_000, 0)

// pairs are keys that are made once.
var pairs = sync.OnceValue(func() (p struct {
	rsa, small *rsa.PrivateKey
	ec, wide   *ecdsa.PrivateKey
	ed         ed25519.PrivateKey
},
) {
	p.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	p.small, _ = rsa.GenerateKey(rand.Reader, 1024)
	p.ec, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.wide, _ = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, p.ed, _ = ed25519.GenerateKey(rand.Reader)
	return p
})

var secret = []byte("0123456789abcdef0123456789abcdef")

func jwks(t testing.TB, keys ...jose.JSONWebKey) []byte {
	t.Helper()
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func publicKeys(t testing.TB) *Keys {
	t.Helper()
	p := pairs()
	k, err := ParseKeys(jwks(t,
		jose.JSONWebKey{Key: p.rsa.Public(), KeyID: "r", Use: "sig"},
		jose.JSONWebKey{Key: p.ec.Public(), KeyID: "e", Algorithm: "ES256"},
		jose.JSONWebKey{Key: p.ed.Public(), KeyID: "d"}))
	if err != nil || k.Len() != 3 {
		t.Fatalf("%d keys, %v", k.Len(), err)
	}
	return k
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// sign makes a token of any header and payload, with ES256.
func sign(t testing.TB, head, payload string) string {
	t.Helper()
	input := b64(head) + "." + b64(payload)
	sum := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, pairs().ec, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func signHMAC(head, payload string, key []byte) string {
	input := b64(head) + "." + b64(payload)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func signRSA(t testing.TB, head, payload string, hash crypto.Hash) string {
	t.Helper()
	input := b64(head) + "." + b64(payload)
	h := hash.New()
	h.Write([]byte(input))
	sig, err := rsa.SignPKCS1v15(rand.Reader, pairs().rsa, hash, h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(sig)
}

const (
	es256   = `{"alg":"ES256","kid":"e"}`
	payload = `{"iss":"https://idp","aud":["shop","x"],"sub":"ann","exp":1800000060,"nbf":1799999990,"iat":1799999990}`
)

func with(claims string) string { return `{"iss":"https://idp","aud":"shop",` + claims + `}` }

func issuer() *Issuer {
	return &Issuer{Name: "https://idp", Audiences: []string{"shop"}, Algorithms: DefaultAlgorithms(), Leeway: 30 * time.Second}
}

func verify(text string, i *Issuer, k *Keys) (Claims, time.Time, error) {
	token, err := Parse(text)
	if err != nil {
		return nil, time.Time{}, err
	}
	return token.Verify(i, k, now)
}

// TestAccepted: tokens of each kind of key.
func TestAccepted(t *testing.T) {
	t.Parallel()
	k := publicKeys(t)
	for name, text := range map[string]string{
		"ES256":           sign(t, es256, payload),
		"without kid":     sign(t, `{"alg":"ES256"}`, payload),
		"typ JWT":         sign(t, `{"alg":"ES256","kid":"e","typ":"JWT"}`, payload),
		"typ at+jwt":      sign(t, `{"alg":"ES256","kid":"e","typ":"application/at+jwt"}`, payload),
		"RS256":           signRSA(t, `{"alg":"RS256","kid":"r"}`, payload, crypto.SHA256),
		"end in leeway":   sign(t, es256, with(`"exp":1799999971`)),
		"start in leeway": sign(t, es256, with(`"exp":1800000060,"nbf":1800000030`)),
		"half seconds":    sign(t, es256, with(`"exp":1800000060.5`)),
	} {
		if _, _, err := verify(text, issuer(), k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	claims, until, err := verify(sign(t, es256, payload), issuer(), k)
	if sub, _ := claims.Values("sub"); err != nil || len(sub) != 1 || sub[0] != "ann" || until != time.Unix(1800000090, 0) {
		t.Errorf("sub %v until %v: %v", sub, until, err)
	}
	shared, err := SharedKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	own := issuer()
	own.Algorithms, own.Shared = []string{"HS256"}, true
	if _, _, err := verify(signHMAC(`{"alg":"HS256"}`, payload, secret), own, shared); err != nil {
		t.Errorf("HS256: %v", err)
	}
}

// TestBestPractices: the attacks and rules of RFC 8725, section by section.
func TestBestPractices(t *testing.T) {
	t.Parallel()
	p := pairs()
	k := publicKeys(t)
	der, _ := x509.MarshalPKIXPublicKey(p.rsa.Public())
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own, _ := json.Marshal(jose.JSONWebKey{Key: p.wide.Public()})
	good := sign(t, es256, payload)
	parts := strings.Split(good, ".")
	for name, text := range map[string]string{
		"2.1 none":                      b64(`{"alg":"none"}`) + "." + b64(payload) + ".",
		"2.1 none in capitals":          b64(`{"alg":"NONE"}`) + "." + b64(payload) + ".",
		"2.1 none with the signature":   b64(`{"alg":"none","kid":"e"}`) + "." + parts[1] + "." + parts[2],
		"2.1 no signature":              parts[0] + "." + parts[1] + ".",
		"2.1 two parts":                 parts[0] + "." + parts[1],
		"2.1 four parts":                good + ".x",
		"2.1 HS256 with the public key": signHMAC(`{"alg":"HS256","kid":"r"}`, payload, public),
		"2.1 HS256 with the key's DER":  signHMAC(`{"alg":"HS256","kid":"r"}`, payload, der),
		"2.1 HS256 without kid":         signHMAC(`{"alg":"HS256"}`, payload, []byte{}),
		"3.1 RS512 is not in the list":  signRSA(t, `{"alg":"RS512","kid":"r"}`, payload, crypto.SHA512),
		"3.1 alg of another key":        sign(t, `{"alg":"RS256","kid":"e"}`, payload),
		"3.1 the key's type is another": sign(t, `{"alg":"ES256","kid":"r"}`, payload),
		"3.1 the curve is another":      sign(t, `{"alg":"ES384","kid":"e"}`, payload),
		"3.1 alg in another case":       sign(t, `{"Alg":"ES256","kid":"e"}`, payload),
		"3.1 no alg":                    sign(t, `{"kid":"e"}`, payload),
		"3.3 the payload is another":    parts[0] + "." + b64(strings.Replace(payload, "ann", "bob", 1)) + "." + parts[2],
		"3.3 the header is another":     b64(`{"alg":"ES256","kid":"e","x":1}`) + "." + parts[1] + "." + parts[2],
		"3.3 bits behind the signature": good + "A",
		"3.7 padding":                   parts[0] + "=." + parts[1] + "." + parts[2],
		"3.7 text that is not UTF-8":    sign(t, es256, with("\"sub\":\"\xff\",\"exp\":1800000060")),
		"3.8 another issuer":            sign(t, es256, strings.Replace(payload, "//idp", "//other", 1)),
		"3.8 no issuer":                 sign(t, es256, `{"aud":"shop","exp":1800000060}`),
		"3.8 the issuer is a list":      sign(t, es256, `{"iss":["https://idp"],"aud":"shop","exp":1800000060}`),
		"3.9 another audience":          sign(t, es256, strings.Replace(payload, `"shop"`, `"shop2"`, 1)),
		"3.9 no audience":               sign(t, es256, `{"iss":"https://idp","exp":1800000060}`),
		"3.9 audience of objects":       sign(t, es256, `{"iss":"https://idp","aud":[{"a":"shop"},"shop"],"exp":1800000060}`),
		"3.10 jwk":                      sign(t, `{"alg":"ES384","jwk":`+string(own)+`}`, payload),
		"3.10 kid of no key":            sign(t, `{"alg":"ES256","kid":"../../e"}`, payload),
		"3.11 type of another token":    sign(t, `{"alg":"ES256","kid":"e","typ":"secevent+jwt"}`, payload),
		"3.11 nested token":             sign(t, `{"alg":"ES256","kid":"e","cty":"JWT"}`, payload),
		"crit":                          sign(t, `{"alg":"ES256","kid":"e","crit":["exp"],"exp":1}`, payload),
		"b64":                           sign(t, `{"alg":"ES256","kid":"e","b64":false}`, payload),
		"a name stands twice, header":   sign(t, `{"alg":"ES256","kid":"e","kid":"r"}`, payload),
		"a name stands twice, claims":   sign(t, es256, with(`"exp":1800000060,"exp":1`)),
		"a name stands twice, deep":     sign(t, es256, with(`"exp":1800000060,"a":{"b":1,"b":2}`)),
		"a second value":                sign(t, es256, payload+"{}"),
		"claims are no object":          sign(t, es256, `["iss"]`),
		"claims are null":               sign(t, es256, `null`),
		"claims are empty":              sign(t, es256, ``),
		"deep":                          sign(t, es256, with(`"exp":1800000060,"a":`+strings.Repeat("[", 20)+strings.Repeat("]", 20))),
		"too long":                      sign(t, es256, with(`"exp":1800000060,"a":"`+strings.Repeat("a", MaxToken)+`"`)),
		"no end":                        sign(t, es256, with(`"sub":"ann"`)),
		"expired":                       sign(t, es256, with(`"exp":1799999970`)),
		"the end is a text":             sign(t, es256, with(`"exp":"1800000060"`)),
		"the end is null":               sign(t, es256, with(`"exp":null`)),
		"the end is far":                sign(t, es256, with(`"exp":1e300`)),
		"not yet valid":                 sign(t, es256, with(`"exp":1800000060,"nbf":1800000031`)),
		"the start is a text":           sign(t, es256, with(`"exp":1800000060,"nbf":"0"`)),
		"issued in the future":          sign(t, es256, with(`"exp":1800000060,"iat":1800000031`)),
		"JSON form":                     `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"a blank":                       " " + good,
		"a newline":                     good + "\n",
		"nothing":                       "",
	} {
		_, _, err := verify(text, issuer(), k)
		_, bad := errors.AsType[*InvalidError](err)
		if !bad && !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAge: maxAge replaces a missing end and shortens a longer one.
func TestAge(t *testing.T) {
	t.Parallel()
	k := publicKeys(t)
	for claims, want := range map[string]int64{
		`"iat":1799999950`:                  1799999950 + 130,
		`"iat":1799999950,"exp":1900000000`: 1799999950 + 130,
		`"iat":1799999950,"exp":1800000010`: 1800000010 + 30,
		`"iat":1799999870`:                  0,
		`"exp":1900000000`:                  0,
	} {
		i := issuer()
		i.MaxAge = 100 * time.Second
		_, until, err := verify(sign(t, es256, with(claims)), i, k)
		if (err == nil) != (want > 0) || err == nil && until.Unix() != want {
			t.Errorf("%s: until %d, %v; want %d", claims, until.Unix(), err, want)
		}
	}
}

// TestKeys: which keys of a set are used, and what a token without keys gets.
func TestKeys(t *testing.T) {
	t.Parallel()
	p := pairs()
	for name, key := range map[string]jose.JSONWebKey{
		"short RSA":   {Key: p.small.Public()},
		"encryption":  {Key: p.rsa.Public(), Use: "enc"},
		"private":     {Key: p.ec},
		"symmetric":   {Key: secret},
		"private RSA": {Key: p.rsa},
	} {
		if k, err := ParseKeys(jwks(t, key)); err == nil {
			t.Errorf("%s: %d keys are used", name, k.Len())
		}
	}
	var many []jose.JSONWebKey
	for i := range MaxKeys + 1 {
		many = append(many, jose.JSONWebKey{Key: p.ed.Public(), KeyID: fmt.Sprint(i)})
	}
	good := string(jwks(t, many[0]))
	for name, set := range map[string]string{
		"HTML": "<html>", "nothing": "", "null": "null", "a list": "[]", "no keys": `{"keys":[]}`, "twice": `{"keys":[],"keys":[]}`,
		"too long": good + strings.Repeat(" ", MaxKeySet), "too many": string(jwks(t, many...)), "two sets": good + good,
	} {
		if _, err := ParseKeys([]byte(set)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := SharedKey(secret[:31]); err == nil {
		t.Error("a short secret is used")
	}
	if _, _, err := verify(sign(t, es256, payload), issuer(), nil); !errors.Is(err, ErrNoKeys) {
		t.Errorf("without keys: %v", err)
	}
	if _, _, err := verify(sign(t, `{"alg":"ES256","kid":"new"}`, payload), issuer(), publicKeys(t)); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("with a new kid: %v", err)
	}
	five, err := ParseKeys(jwks(t, many[:mostTried+1]...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := five.forToken("", "EdDSA"); err == nil {
		t.Error("a token without kid is tried with five keys")
	}
}

// TestIssuer: settings that are refused.
func TestIssuer(t *testing.T) {
	t.Parallel()
	if err := issuer().Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Issuer){
		"no name":       func(i *Issuer) { i.Name = "" },
		"no algorithm":  func(i *Issuer) { i.Algorithms = nil },
		"none":          func(i *Issuer) { i.Algorithms = []string{"none"} },
		"unknown":       func(i *Issuer) { i.Algorithms = []string{"es256"} },
		"HS with a set": func(i *Issuer) { i.Algorithms = []string{"ES256", "HS256"} },
		"ES, shared":    func(i *Issuer) { i.Shared = true },
		"leeway":        func(i *Issuer) { i.Leeway = 6 * time.Minute },
		"age":           func(i *Issuer) { i.MaxAge = -1 },
	} {
		i := issuer()
		change(i)
		if i.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestHeaderValues: a claim becomes a header, or is missing; it never changes its meaning.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	c, err := parseClaims([]byte(`{"sub":"ann","n":12345678901234567890,"ok":true,"list":["a","b"],"comma":["a,b","c"],"one":["a,b"],"nl":"a\nb",
		"o":{"p":{"q":"deep"},"r.s":"no"},"https://x/roles":"admin","null":null,"objects":[{}],"name":"Jörg 😀","empty":"","blank":" a"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		claim string
		form  Form
		want  string
		found bool
	}{
		{"sub", Text, "ann", true},
		{"n", Text, "12345678901234567890", true},
		{"ok", Text, "true", true},
		{"list", Text, "a,b", true},
		{"comma", Text, "", false},
		{"comma", Base64, "YSxiLGM=", true},
		{"one", Text, "a,b", true},
		{"nl", Text, "", false},
		{"nl", Base64, "YQpi", true},
		{"nl", JSON, `"a\nb"`, true},
		{"o.p.q", Text, "deep", true},
		{"o.p", Text, "", false},
		{"o.p", JSON, `{"q":"deep"}`, true},
		{"o.r.s", Text, "", false},
		{"https://x/roles", Text, "admin", true},
		{"null", Text, "", false},
		{"objects", Text, "", false},
		{"missing", JSON, "", false},
		{"name", Text, "Jörg 😀", true},
		{"name", JSON, `"J\u00f6rg \ud83d\ude00"`, true},
		{"empty", Text, "", true},
		{"blank", Text, " a", false},
		{"sub", "Hex", "", false},
	} {
		if got, found := c.HeaderValue(test.claim, test.form); found != test.found || found && got != test.want {
			t.Errorf("%s as %s: %q %v, want %q %v", test.claim, test.form, got, found, test.want, test.found)
		}
	}
}

// FuzzToken: no text that was not signed is accepted, and none panics.
func FuzzToken(f *testing.F) {
	good := sign(f, es256, payload)
	f.Add(good)
	f.Add(signHMAC(`{"alg":"HS256"}`, payload, secret))
	f.Add("..")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add(sign(f, `{"alg":"ES256"`+s+`,"kid":"e"}`, payload+s))
	}
	k := publicKeys(f)
	signed := map[string]bool{}
	f.Fuzz(func(t *testing.T, text string) {
		c, until, err := verify(text, issuer(), k)
		if err != nil {
			return
		}
		if !until.After(now) || c["iss"] != "https://idp" {
			t.Fatalf("accepted until %v: %v", until, c)
		}
		// Only what a test signed: the claims are the test's, whatever else differs.
		if signed[text] = true; len(signed) > 100 {
			t.Fatalf("%d different tokens are accepted", len(signed))
		}
	})
}

// FuzzKeys: no document makes a set beyond the bounds.
func FuzzKeys(f *testing.F) {
	p := pairs()
	f.Add(jwks(f, jose.JSONWebKey{Key: p.ec.Public(), KeyID: "e"}, jose.JSONWebKey{Key: secret}))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + b64(string(p.ed.Public().(ed25519.PublicKey))) + `"}]}`))
	f.Add([]byte("{\"keys\":[\n{\t}\r\x00\f]}"))
	f.Fuzz(func(t *testing.T, set []byte) {
		k, err := ParseKeys(set)
		if err == nil && (k.Len() == 0 || k.Len() > MaxKeys) {
			t.Fatalf("%d keys", k.Len())
		}
	})
}
