package authentication_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
)

// oneSecret has the same data under each name.
type oneSecret map[string][]byte

func (o oneSecret) Secret(string) (map[string][]byte, error) { return o, nil }

func (o oneSecret) Authorities(string) (string, error) { return string(o["ca.crt"]), nil }

func (oneSecret) Endpoints(service, port string) ([]netip.AddrPort, error) {
	if strings.Contains(service+port, "none") {
		return nil, errors.New("no such Service")
	}
	return []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:8080")}, nil
}

// seeds are groups and Secrets that can be used, with an odd text in one place each.
func seeds() (groups, secrets []string) {
	groups = []string{
		`{"authentication":{"satisfy":"Any","basic":{"secret":"u","realm":"aX","forwardUser":"X-UserX","maxFailures":{"count":3,"per":"1m"}}}}`,
		`{"authentication":{"external":{"service":{"name":"auth","port":"httpX","path":"/checkX"},"responseHeaders":["X-AX"],"requestHeaders":["X-BX"],"clientHeaders":["X-CX"],"signIn":{"url":"https://e.test/X","param":"rX"},"timeout":"1s","cache":{"ttl":"1m","key":["Cookie:aX"]},"redirects":"Pass"}}}`,
		`{"authentication":{"external":{"url":"https://e.test/X","method":"Original","caSecret":"caX"}}}`,
		`{"authentication":{"jwt":{"issuers":[{"issuer":"https://e.test/X","secret":"k","audiences":["aX"],"algorithms":["ES256"]}],"from":[{"type":"Header","name":"TX","prefix":"Bearer X"},{"type":"Query","name":"t"}],"claimsToHeaders":[{"claim":"sX","header":"X-SX","as":"JSON"}],"optional":true}}}`,
		`{"authentication":{"jwt":{"issuers":[{"issuer":"i","jwks":{"uri":"https://e.test/keysX"}}]}}}`,
		`{"authentication":{"oidc":{"issuer":"https://e.test/X","clientID":"shopX","clientSecret":"s","scopes":["aX"],"audiences":["bX"],"redirectPath":"/cX","logoutPath":"/dX","postLogoutRedirect":"/X","cookie":{"name":"eX","domain":"e.testX","sameSite":"Lax","maxAge":"1h","idle":"5m"},"claimsToHeaders":[{"claim":"sX","header":"X-SX"}],"forward":{"accessToken":"X-AX","idToken":"X-IX"},"skip":["/pX"],"endpoints":{"token":"https://e.test/tX"}}}}`,
		`{"authentication":{"apiKeys":{"secrets":["k"],"from":[{"type":"Query","name":"kX"},{"type":"Header","name":"X-TX"}],"forwardConsumer":"X-WhoX","stripKey":false}}}`,
		`{"authentication":{"basic":{"secret":"u"}},"authorization":{"rules":[{"action":"Deny","when":{"methods":["GETX"],"paths":[{"value":"/aX"},{"type":"Exact","value":"/b"}],"cidrs":["198.18.0.0/15X"]}},{"action":"Allow","when":{"consumers":["annX"],"headers":[{"name":"X-HX","values":["vX"]}]}}]}}`,
		`{"authentication":{"clientCertificate":{"caSecret":"a","crlSecret":"bX","forward":"XFCCX","subjects":[{"value":"CN=aX"}],"sans":[{"kind":"URI","type":"Prefix","value":"spiffe://aX"},{"kind":"IP","value":"198.51.100.7X"},{"kind":"DNS","value":"aX.test"}]}}}`,
		`{"authentication":{"clientCertificate":{"caConfigMap":"aX","mode":"Optional"}}}`,
		`{"authorization":{"rules":[{"action":"Allow","when":{"claims":[{"name":"cX","values":["vX"]}],"scopes":["sX"],"groups":["gX"]}}]}}`,
	}
	secrets = []string{
		`{"auth":"ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n"}`, `{"annX":"$1$ab$e2KlfqG5YBMTjSz7XF.Eu1X"}`, `{"jwks":"{\"keys\":[]}X"}`, `{"client-secret":"sX"}`, `{"ca.crt":"X"}`,
		`{"ann":"key-of-ann-0123456789X","bob":"sha256:00X","eve":"key-of-ann-0123456789X"}`,
	}
	return groups, secrets
}

// FuzzCompile puts whatever JSON into the two groups and a Secret, as if the CRD let it
// through: what comes of it is a snapshot that the agent reads, and a record of one line;
// what is wrong names its field and tells no more of the Secret than names.
func FuzzCompile(f *testing.F) {
	groups, secrets := seeds()
	for _, odd := range []string{"", `\n`, `\t`, `\r\n`, `\u0000`, `\f`, "|", "+", ":", "/", "é", `\"`, "%0a", " "} {
		for i, g := range groups {
			f.Add([]byte(strings.ReplaceAll(g, "X", odd)), []byte(strings.ReplaceAll(secrets[i%len(secrets)], "X", odd)))
		}
	}
	f.Fuzz(func(t *testing.T, group, secret []byte) {
		var spec v1alpha1.PolicySpec
		var texts map[string]string
		if json.Unmarshal(group, &spec) != nil || json.Unmarshal(secret, &texts) != nil {
			return
		}
		data := oneSecret{}
		for k, v := range texts {
			data[k] = []byte(v)
		}
		r, problems := authentication.Compile(authentication.Input{
			Spec: spec.Authentication, Rules: spec.Authorization, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: data, Key: "a2V5",
		})
		closes := false
		for _, p := range problems {
			closes = closes || p.Closes
			if p.Message == "" || p.Group != "authentication" && p.Group != "authorization" {
				t.Errorf("a problem that does not say what is wrong: %+v", p)
			}
			if strings.Contains(p.Message, "key-of-ann") {
				t.Errorf("a message has a key: %s", p.Message)
			}
		}
		if asks := r.Agent != nil || r.Keys != nil; asks == closes && (asks || spec.Authentication != nil || spec.Authorization != nil) {
			t.Errorf("something is asked: %v, with problems %+v", asks, problems)
		}
		record := (&model.Policy{Agent: r.Agent, APIKeys: r.Keys}).Record()
		if strings.ContainsFunc(record, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q cannot stand in a map", record)
		}
		if r.Agent == nil {
			return
		}
		whole, err := snapshot.Join(1, snapshot.Surroundings{}, []string{r.Agent.Policy})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := snapshot.Decode(whole); err != nil {
			t.Errorf("the agent cannot read it: %v", err)
		}
		if model.RecordField(record, model.FieldAsk) != r.Agent.ID {
			t.Errorf("the record %q does not ask for %q", record, r.Agent.ID)
		}
	})
}
