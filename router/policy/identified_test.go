package policy

import (
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// TestUnidentified: a limit by what authentication does not find out is one that counts by
// address, and that is said.
func TestUnidentified(t *testing.T) {
	t.Parallel()
	keys := &v1alpha1.Authentication{APIKeys: &v1alpha1.APIKeyAuthentication{}}
	basic := &v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{}}
	tokens := &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{}}
	server := &v1alpha1.Authentication{External: &v1alpha1.ExternalAuthentication{}}
	for name, test := range map[string]struct {
		by    *v1alpha1.Authentication
		limit string
		want  bool
	}{
		"owners of keys": {keys, "Consumer", false}, "users": {basic, "Consumer", false}, "subjects": {tokens, "Consumer", false}, "claims": {tokens, "Claim", false},
		"nothing": {nil, "Consumer", true}, "server": {server, "Consumer", true}, "claim without": {nil, "Claim", true}, "claim of a key": {keys, "Claim", true},
		"claim of a user": {basic, "Claim", true}, "address": {nil, "Address", false}, "header": {server, "Header", false},
	} {
		key := &v1alpha1.LimitKey{Type: test.limit}
		if test.limit == "Claim" || test.limit == "Header" {
			key.Name = "x"
		}
		limits := &v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{Name: "a", Requests: 1}, {Name: "b", Requests: 1, Key: key}}}
		s := Spec{Groups: v1alpha1.PolicySpec{Authentication: test.by, Limits: limits}}
		got := s.Unidentified(nil)
		if (len(got) == 1) != test.want || test.want && (got[0].Part != "requests[1].key" || got[0].Message == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
