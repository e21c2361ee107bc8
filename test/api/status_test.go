package api

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
)

// statusAs judges the cluster with the rights of a user, "" for the administrator.
func statusAs(ctx context.Context, t *testing.T, user, namespace string) *check.Report {
	t.Helper()
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		config = rest.CopyConfig(config)
		config.Impersonate.UserName = user
	}
	s, err := collect.Read(ctx, config, collect.Options{Namespace: namespace, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return check.Judge(s)
}

func stateOf(r *check.Report, id string) check.State {
	for i := range r.Checks {
		if r.Checks[i].ID == id {
			return r.Checks[i].State
		}
	}
	return ""
}

// TestStatusCluster: status reads all kinds of a real API server, and judges only what the
// user may read.
func TestStatusCluster(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	ns := routeNamespace(t, admin)
	r := statusAs(t.Context(), t, "", ns)
	if r.Partial {
		t.Errorf("the administrator may read everything: %q", r.Notes)
	}
	// No pod runs here, so the operator is not ready; all else that needs no pods is good.
	for id, want := range map[string]check.State{
		"FL001": check.OK, "FL002": check.OK, "FL003": check.Fail, "FL007": check.OK, "FL008": check.OK, "FL009": check.OK, "FL602": check.Skipped, "FL402": check.Skipped,
	} {
		if got := stateOf(r, id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if r.Verdict != check.Unhealthy {
		t.Errorf("the verdict is %s", r.Verdict)
	}

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{routev1.GroupName}, Resources: []string{"routes"}, Verbs: []string{"list"}},
	}}
	bind(t, admin, role, ns, "status-tenant")
	r = statusAs(t.Context(), t, "status-tenant", ns)
	if r.Verdict != check.Unclear || r.Count(check.Fail) > 0 {
		t.Errorf("a tenant: %s, %d failures", r.Verdict, r.Count(check.Fail))
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "Routes: only those of namespace "+ns) }) {
		t.Errorf("a tenant: no note about Routes: %q", r.Notes)
	}
	if got := stateOf(r, "FL221"); got != check.Unknown {
		t.Errorf("a tenant: FL221 is %s", got)
	}

	// Without any right nothing is good and nothing is bad, except what anybody may see.
	r = statusAs(t.Context(), t, "status-nobody", ns)
	if r.Verdict != check.Unclear || r.Count(check.Fail)+r.Count(check.Warn) > 0 || len(r.Notes) < 20 {
		t.Errorf("a user without rights: %s, %+v", r.Verdict, r)
	}
}
