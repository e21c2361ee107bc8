package policy

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// TestIngressPolicy: the annotation of the operator is applied whole, or closes.
func TestIngressPolicy(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		`{"cors":{"origins":["https://a.test"]},"limits":{"requests":[{"name":"per-second","requests":5}]}}`: "",
		`{"rewrite":{"full":"/x"},"headers":{"request":{"set":[{"name":"X-A","value":"b"}]}}}`:               "",
		`{"authentication":{"external":{"service":{"name":"auth"}}}}`:                                        "",
		``:     "is not the JSON",
		`null`: "no group",
		`{}`:   "no group",
		`{`:    "is not the JSON",
		`{"cors":{"origins":["https://a.test"]}} {}`:                             "more than one",
		`{"corse":{"origins":["https://a.test"]}}`:                               "unknown field",
		`{"cors":{"origins":["a.test"]}}`:                                        "is not an origin",
		`{"access":{"allow":["10.0.0.0/8"]}}`:                                    "group access",
		`{"maintenance":{"enabled":true}}`:                                       "group maintenance",
		`{"log":{}}`:                                                             "group log",
		`{"timeouts":{"connect":"5s"}}`:                                          "group timeouts",
		`{"limits":{"requests":[{"name":"a","requests":0}]}}`:                    "requests must be",
		`{"redirects":{"rules":[{"to":{"url":"//evil.test"}}]}}`:                 "another host",
		`{"headers":{"request":{"set":[{"name":"X","value":"%["}]}}}`:            "must be text",
		`{"rewrite":{"full":"/x` + strings.Repeat("y", maxIngressPolicy) + `"}}`: "bytes",
	} {
		_, problems := Read(map[string]string{api.AnnotationIngressPolicy: text}, Spec{}, model.Edge, false)
		switch {
		case wrong == "" && len(problems) > 0, wrong != "" && len(problems) != 1:
			t.Errorf("%.100s: %+v", text, problems)
		case wrong != "" && (!problems[0].Closes || !strings.Contains(problems[0].Message, wrong)):
			t.Errorf("%.100s: %+v, want %q", text, problems[0], wrong)
		}
	}
}

// TestIngressPolicyBeside: what the object says in other annotations counts first, and
// limits add up.
func TestIngressPolicyBeside(t *testing.T) {
	t.Parallel()
	text := `{"cors":{"origins":["https://a.test"],"maxAge":"60s"},"rewrite":{"full":"/x"},"redirects":{"https":{"port":8443}},` +
		`"limits":{"requests":[{"name":"per-second","requests":5},{"name":"per-minute","requests":50,"per":"1m"}]}}`
	s, problems := Read(map[string]string{
		api.AnnotationIngressPolicy: text, AnnotationCORSOrigins: "https://b.test", api.AnnotationRewrite: "/own", RedirectStatus: "308",
		AnnotationLimit: "20/s", AnnotationLimitKey: "header:X-User",
	}, Spec{}, model.Edge, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var p model.Policy
	s.Compile(&p)
	if got := p.CORS; len(got.Origins) != 1 || got.Origins[0] != "https://b.test" || got.MaxAge.String() != "1m0s" {
		t.Errorf("CORS %+v", got)
	}
	if r := s.Rewrite(&model.Match{Path: "/foo"}); r == nil || r.Empty != "/own" || r.Strip != 4 {
		t.Errorf("rewrite %+v", r)
	}
	if to := s.ToHTTPS(); to != (model.ToHTTPS{Status: 308, Port: 8443}) {
		t.Errorf("to https %+v", to)
	}
	if len(p.Rates) != 3 || p.Rates[0].Key.Kind != model.KeyAddress || p.Rates[2].Key.Name != "x-user" {
		t.Errorf("rates %+v", p.Rates)
	}
}

// TestIngressPolicyTooMany: limits that do not fit together are never left out.
func TestIngressPolicyTooMany(t *testing.T) {
	t.Parallel()
	text := `{"limits":{"requests":[{"name":"a","requests":1},{"name":"b","requests":1},{"name":"c","requests":1},{"name":"d","requests":1}]}}`
	_, problems := Read(map[string]string{api.AnnotationIngressPolicy: text, AnnotationLimit: "20/s"}, Spec{}, model.Edge, false)
	if len(problems) != 1 || !problems[0].Closes {
		t.Errorf("%+v", problems)
	}
	_, problems = Read(map[string]string{api.AnnotationIngressPolicy: text}, Spec{}, model.Passthrough, false)
	if len(problems) != 1 || !problems[0].Closes {
		t.Errorf("passthrough: %+v", problems)
	}
}

// FuzzIngressPolicy: whatever stands in the annotation is applied as it is written, or
// closes.
func FuzzIngressPolicy(f *testing.F) {
	for _, odd := range []string{"", "a", `\n`, `\t`, `\r`, `\u0000`, `\f`, "|", "%", `\"`, "é", "\n", "\t", "\r", "\x00", "\f"} {
		f.Add(strings.ReplaceAll(`{"cors":{"origins":["https://a.testX"],"methods":["GETX"]},"rewrite":{"full":"/X"},"redirects":{"rules":[{"to":{"url":"/X"}}]}}`, "X", odd))
		f.Add(strings.ReplaceAll(`{"limits":{"requests":[{"name":"a","requests":5,"per":"1s","exempt":["10.0.0.0/8X"]}]},"headers":{"request":{"set":[{"name":"X-A","value":"X"}]}}}`, "X", odd))
		f.Add(strings.ReplaceAll(`{"authentication":{"external":{"service":{"name":"authX"}}}} X`, "X", odd))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := Read(map[string]string{api.AnnotationIngressPolicy: text}, Spec{}, model.Edge, false)
		if len(problems) > 0 {
			if !problems[0].Closes {
				t.Fatalf("%+v", problems)
			}
			return
		}
		var p model.Policy
		for _, problem := range Compile(&s.Groups, &p) {
			t.Fatalf("%+v", problem)
		}
	})
}
