package policy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestSameRecord: annotations and a RoutePolicy that ask for the same give the same
// record, byte by byte.
func TestSameRecord(t *testing.T) {
	t.Parallel()
	percent := int32(10)
	for name, test := range map[string]struct {
		annotations map[string]string
		spec        v1alpha1.PolicySpec
	}{
		"allow":    {map[string]string{AnnotationAllow: "10.0.0.0/8 192.0.2.1"}, v1alpha1.PolicySpec{Access: &v1alpha1.Access{Allow: []v1alpha1.CIDR{"10.0.0.0/8", "192.0.2.1"}}}},
		"deny":     {map[string]string{AnnotationDeny: "10.0.0.0/8"}, v1alpha1.PolicySpec{Access: &v1alpha1.Access{Deny: []v1alpha1.CIDR{"10.0.0.0/8"}}}},
		"max-body": {map[string]string{AnnotationMaxBody: "10Mi"}, v1alpha1.PolicySpec{Limits: &v1alpha1.Limits{Body: &v1alpha1.BodyLimit{Max: resource.MustParse("10Mi")}}}},
		"limit": {map[string]string{AnnotationLimit: "20/m burst 40", AnnotationLimitKey: "header:X-User"}, v1alpha1.PolicySpec{Limits: &v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{
			Name: "requests", Requests: 20, Per: "1m", Burst: 40, Key: &v1alpha1.LimitKey{Type: "Header", Name: "x-user"},
		}}}}},
		"redirect":        {map[string]string{AnnotationRedirect: "https://e.test/", AnnotationRedirectCode: "308"}, v1alpha1.PolicySpec{Redirects: &v1alpha1.Redirects{Rules: []v1alpha1.RedirectRule{{To: v1alpha1.RedirectTarget{URL: "https://e.test/"}, Code: 308}}}}},
		"redirect-status": {map[string]string{RedirectStatus: "308"}, v1alpha1.PolicySpec{Redirects: &v1alpha1.Redirects{HTTPS: &v1alpha1.RedirectHTTPS{Code: 308}}}},
		"cors":            {map[string]string{AnnotationCORSOrigins: "https://shop.test", AnnotationCORSCredentials: "true"}, v1alpha1.PolicySpec{CORS: &v1alpha1.CORS{Origins: []string{"https://shop.test"}, Credentials: true}}},
		"maintenance":     {map[string]string{AnnotationMaintenance: "true"}, v1alpha1.PolicySpec{Maintenance: &v1alpha1.Maintenance{Enabled: true}}},
		"max-uri":         {map[string]string{"fairlead.dev/max-uri": "64"}, v1alpha1.PolicySpec{Limits: &v1alpha1.Limits{URIBytes: 64}}},
		"timeouts": {
			map[string]string{api.AnnotationTimeout: "5s", api.AnnotationTimeoutTunnel: "1h", AnnotationConnectTimeout: "500ms", AnnotationIdleTimeout: "2m"},
			v1alpha1.PolicySpec{Timeouts: &v1alpha1.Timeouts{Response: "5s", Tunnel: "1h", Connect: "500ms", Idle: "2m"}},
		},
		"rewrite": {
			map[string]string{api.AnnotationRewrite: "/v2", AnnotationHost: "inner.example.com"},
			v1alpha1.PolicySpec{Rewrite: &v1alpha1.Rewrite{Prefix: "/v2", Host: "inner.example.com"}},
		},
		"pattern": {
			map[string]string{AnnotationRewrite: " /a(/.*)?$  /b$1 ", AnnotationHost: "inner.example.com"},
			v1alpha1.PolicySpec{Rewrite: &v1alpha1.Rewrite{Regex: &v1alpha1.RewriteRegex{Pattern: "/a(/.*)?$", Replacement: "/b$1"}, Host: "inner.example.com"}},
		},
		"access-log": {map[string]string{AnnotationAccessLog: "10%"}, v1alpha1.PolicySpec{Log: &v1alpha1.RequestLog{Percent: &percent}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotated, problems := Read(test.annotations, Spec{}, model.Edge, false)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var want, got model.Policy
			annotated.Compile(&want)

			o := routePolicy("p", 1, v1alpha1.RoutePolicySpec{PolicySpec: test.spec})
			selected := Selection{Sources: []*Source{o.source(RankObject)}}
			e := selected.Effective(nil)
			if e.Closed() || len(e.Unapplied) > 0 {
				t.Fatalf("closings %v, not applied %v", e.Closings, e.Unapplied)
			}
			var spec Spec
			spec.Apply(e)
			spec.Compile(&got)
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{})); d != "" || want.Record() != got.Record() {
				t.Errorf("-annotation +policy:\n%s\n%q\n%q", d, want.Record(), got.Record())
			}
			if d := cmp.Diff(annotated.Rewrite(&model.Match{Path: "/a"}), spec.Rewrite(&model.Match{Path: "/a"})); d != "" {
				t.Errorf("path: -annotation +policy:\n%s", d)
			}
			if annotated.ToHTTPS() != spec.ToHTTPS() {
				t.Errorf("redirect to https: %+v by the annotation, %+v by the policy", annotated.ToHTTPS(), spec.ToHTTPS())
			}
			if annotated.ToHTTPS() == (model.ToHTTPS{}) && want.Record() == (&model.Policy{}).Record() && len(want.Allow)+len(want.Deny) == 0 && want.CORS == nil && want.Redirects == nil {
				t.Error("the annotation has no effect")
			}
		})
	}
}
