package route

import (
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// TestCoversUpstream: a former version of a route is not served in place of one that
// trusts other pods.
func TestCoversUpstream(t *testing.T) {
	t.Parallel()
	version := func(u *v1alpha1.UpstreamTLS, namespace string) *guard {
		return &guard{termination: model.Reencrypt, upstream: u, upstreamIn: namespace}
	}
	verifies, other := &v1alpha1.UpstreamTLS{CA: "a"}, &v1alpha1.UpstreamTLS{CA: "b"}
	for name, tt := range map[string]struct {
		former, newest *guard
		want           bool
	}{
		"none":              {version(nil, ""), version(nil, ""), true},
		"the same":          {version(verifies, ""), version(&v1alpha1.UpstreamTLS{CA: "a"}, ""), true},
		"new":               {version(nil, ""), version(verifies, ""), false},
		"another CA":        {version(verifies, ""), version(other, ""), false},
		"another namespace": {version(verifies, ""), version(verifies, "openshift-ingress"), false},
		"insecure":          {version(&v1alpha1.UpstreamTLS{Mode: "Insecure"}, ""), version(verifies, ""), false},
		"gone":              {version(verifies, ""), version(nil, ""), true},
		"edge":              {&guard{termination: model.Edge}, &guard{termination: model.Edge, upstream: verifies}, false},
	} {
		if got := tt.former.coversTLS(tt.newest, door.Settings{}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
