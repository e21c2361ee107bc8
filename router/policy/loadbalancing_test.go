package policy_test

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

func TestBalanceAnnotations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		balance, hashBy string
		want            model.Balance
		key             string
		wrong           string
	}{
		{"", "", "", "", ""},
		{"leastconn", "", model.LeastConn, "", ""},
		{"source", "", model.SourceHash, "", ""},
		{"hash", "", "", "", "must be roundrobin"},
		{"leastconn", "address", model.SourceHash, "", ""},
		{"leastconn", "uri", model.KeyHash, "u", ""},
		{"", "header:X-User", model.KeyHash, "h582d55736572", ""},
		{"", "cookie:id", model.KeyHash, "c6964", ""},
		{"leastconn", "header:", model.LeastConn, "", "must be address"},
		{"", "header:a b", "", "", "must be address"},
		{"", "header:a|b", "", "", "must be address"},
		{"", "claim:sub", "", "", "must be address"},
	} {
		annotations := map[string]string{}
		if tt.balance != "" {
			annotations[api.AnnotationBalance] = tt.balance
		}
		if tt.hashBy != "" {
			annotations[policy.AnnotationHashBy] = tt.hashBy
		}
		s, problems := policy.Read(annotations, policy.Spec{CookieSameSite: "None"}, model.Plain, false)
		var p model.Policy
		s.Compile(&p)
		if got := s.Balance(false); got != tt.want {
			t.Errorf("%v: balance %q, want %q", annotations, got, tt.want)
		}
		if got := model.RecordField(p.Record(), model.FieldHash); got != tt.key {
			t.Errorf("%v: record %q has %q, want %q", annotations, p.Record(), got, tt.key)
		}
		if tt.wrong == "" && len(problems) > 0 || tt.wrong != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, tt.wrong)) {
			t.Errorf("%v: %v, want %q", annotations, problems, tt.wrong)
		}
		if tt.want == model.KeyHash && s.Balance(true) != "" {
			t.Errorf("%v: a passthrough route has the balance %q", annotations, s.Balance(true))
		}
	}
}

func TestBalancePolicy(t *testing.T) {
	t.Parallel()
	for field, l := range map[string]*v1alpha1.LoadBalancing{
		"loadBalancing.algorithm": {Algorithm: "Guess"},
		"loadBalancing.hash":      {Algorithm: "Hash"},
		"loadBalancing.hash.type": {Algorithm: "Hash", Hash: &v1alpha1.HashKey{Type: "Body"}},
		"loadBalancing.hash.name": {Algorithm: "Hash", Hash: &v1alpha1.HashKey{Type: "Header", Name: "a\nb"}},
	} {
		var p model.Policy
		problems := policy.Compile(&v1alpha1.PolicySpec{LoadBalancing: l}, &p)
		if len(problems) != 1 || problems[0].Key != field || problems[0].Closes || p.Hash != nil {
			t.Errorf("%s: %+v", field, problems)
		}
	}
}
