package authentication_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
)

func apiKeys(change func(*v1alpha1.APIKeyAuthentication)) *v1alpha1.Authentication {
	a := &v1alpha1.APIKeyAuthentication{Secrets: []v1alpha1.ObjectReference{"keys"}}
	change(a)
	return &v1alpha1.Authentication{APIKeys: a}
}

// TestAPIKeys: keys become hashes under the key of the pod, that of a hash the same as
// that of the key itself; what is short, or two consumers', admits no request.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	const secret, sum = "acme-key-0123456789abcdef", "sha256:b1b4b18cb1b2b0b0b6f1f0d3f4b4c1e2a5c86c7d8e9f0a1b2c3d4e5f60718293"
	o := objects{secrets: map[string]map[string][]byte{
		"keys":   {"acme": []byte(secret + "\n"), "initech": []byte(sum)},
		"more":   {"acme": []byte(secret), "hooli": []byte("hooli-key-0123456789abcdef")},
		"twins":  {"a": []byte(secret), "b": []byte(secret)},
		"odd":    {"a": []byte("short"), "b": []byte("with blanks 0123456789abcdef"), "c": []byte("sha256:00"), "d": []byte("\u00e9\u00e9-key-0123456789abcdef"), "e": []byte("a\x00-key-0123456789abcdef")},
		"jwks":   {"jwks": []byte("{}")},
		"nobody": {},
	}}
	for name, tt := range map[string]struct {
		spec      *v1alpha1.Authentication
		consumers string
		problem   string
	}{
		"one Secret":         {spec: apiKeys(func(*v1alpha1.APIKeyAuthentication) {}), consumers: "acme initech"},
		"two Secrets":        {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets = append(a.Secrets, "more") }), consumers: "acme hooli initech"},
		"a key twice":        {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets = []v1alpha1.ObjectReference{"twins", "keys"} }), consumers: "initech", problem: "consumers a and b have the same key"},
		"nothing but twins":  {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets[0] = "twins" }), problem: "have no usable key"},
		"odd keys":           {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets[0] = "odd" }), problem: "have no usable key"},
		"no key":             {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets[0] = "nobody" }), problem: "have no usable key"},
		"no Secret":          {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets = append(a.Secrets, "none") }), problem: "apiKeys.secrets[1] Secret none does not exist"},
		"no name":            {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.Secrets = nil }), problem: "apiKeys.secrets must name"},
		"a consumer as Host": {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.ForwardConsumer = "Host" }), problem: "apiKeys.forwardConsumer header Host belongs"},
		"a key in Host": {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) {
			a.From = []v1alpha1.APIKeySource{{Type: "Header", Name: "Host"}}
		}), problem: "apiKeys.from[0].name header Host is not"},
		"a key in a cookie": {spec: apiKeys(func(a *v1alpha1.APIKeyAuthentication) { a.From = []v1alpha1.APIKeySource{{Type: "Cookie", Name: "k"}} }), problem: "apiKeys.from[0].type must be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := authentication.Input{Spec: tt.spec, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: o, Key: "a2V5"}
			r, problems := authentication.Compile(in)
			text := ""
			for _, p := range problems {
				text += p.Field + " " + p.Message + "\n"
			}
			if !strings.Contains(text, tt.problem) || tt.problem == "" && text != "" || strings.Contains(text, secret) {
				t.Errorf("problems:\n%swant %q", text, tt.problem)
			}
			if tt.consumers == "" {
				if r.Keys != nil || r.Agent != nil {
					t.Error("something is asked")
				}
				return
			}
			if r.Agent != nil || r.Keys == nil || !r.Keys.Demanded || !r.Keys.Strips || r.Keys.Header != "X-Consumer" {
				t.Fatalf("agent %v, keys %+v", r.Agent, r.Keys)
			}
			if got := strings.Join(slices.Sorted(maps.Values(r.Keys.Consumers)), " "); got != tt.consumers {
				t.Errorf("consumers %q", got)
			}
			in.Key = "b3RoZXI="
			other, _ := authentication.Compile(in)
			for hash := range r.Keys.Consumers {
				if len(hash) != 64 || strings.ToUpper(hash) != hash || other.Keys.Consumers[hash] != "" {
					t.Errorf("hash %q", hash)
				}
			}
		})
	}
}

// TestAPIKeysBeside: with other methods the agent is asked, and HAProxy demands the key
// only where all methods must admit.
func TestAPIKeysBeside(t *testing.T) {
	t.Parallel()
	o := world()
	o.secrets["keys"]["jwks"] = []byte("jwks-key-0123456789abcdef")
	for satisfy, demanded := range map[string]bool{"": true, "All": true, "Any": false} {
		spec := apiKeys(func(*v1alpha1.APIKeyAuthentication) {})
		spec.Satisfy, spec.Basic = satisfy, &v1alpha1.BasicAuthentication{Secret: "users"}
		r, problems := authentication.Compile(authentication.Input{Spec: spec, Namespace: "demo", References: o})
		if r.Agent == nil || r.Keys == nil || r.Keys.Demanded != demanded || !strings.Contains(r.Agent.Policy, `"apiKeys":{"header":"X-Consumer"}`) {
			t.Errorf("%q: %+v, %v", satisfy, r, problems)
		}
	}
}
