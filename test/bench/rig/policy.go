package rig

import (
	"context"
	"encoding/json"
	"fmt"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
)

// PolicyCookie is the name of the sticky cookie of routes WithPolicies.
const PolicyCookie = "sticky"

// UsePolicies changes a route to one WithPolicies.
func (r *Rig) UsePolicies(ctx context.Context, name string) error {
	var change routev1.Route
	WithPolicies(&change)
	document, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": change.Annotations},
		"spec":     map[string]any{"path": change.Spec.Path, "httpHeaders": change.Spec.HTTPHeaders},
	})
	if err != nil {
		return fmt.Errorf("change route %s: %w", name, err)
	}
	return r.PatchRoute(ctx, name, string(document))
}

// WithPolicies makes a route use every policy that requests to it can take.
// The limits are so high that they refuse nothing.
func WithPolicies(route *routev1.Route) {
	route.Spec.Path = "/"
	route.Annotations = map[string]string{
		api.AnnotationBalance:         "leastconn",
		api.AnnotationCookieName:      PolicyCookie,
		api.AnnotationTimeout:         "20s",
		api.AnnotationTimeoutTunnel:   "2m",
		api.AnnotationPodConnections:  "1000",
		api.AnnotationAllowlist:       "127.0.0.0/8 198.18.0.0/15 2001:db8::/32",
		api.AnnotationLimit:           "true",
		api.AnnotationLimitConcurrent: "1000000",
		api.AnnotationLimitRateTCP:    "1000000",
		api.AnnotationLimitRateHTTP:   "1000000",
		api.AnnotationForwarded:       "if-none",
		api.AnnotationRewrite:         "/rewritten/",
		api.AnnotationHSTS:            "max-age=31536000;includeSubDomains;preload",
	}
	set := func(name, value string) routev1.RouteHTTPHeader {
		return routev1.RouteHTTPHeader{Name: name, Action: routev1.RouteHTTPHeaderActionUnion{
			Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: value},
		}}
	}
	remove := routev1.RouteHTTPHeaderActionUnion{Type: routev1.Delete}
	route.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{
		Request:  []routev1.RouteHTTPHeader{set("X-Asked", "%[req.hdr(host),lower]"), {Name: "X-Debug", Action: remove}},
		Response: []routev1.RouteHTTPHeader{set("X-Frame-Options", "DENY"), {Name: "Server", Action: remove}},
	}}
}
