package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/model"
)

// branchFilters are what is done to the requests of one backend: their headers, and the host
// and path that its pods get.
type branchFilters struct {
	headers []model.HeaderAction
	rewrite *gatewayv1.HTTPURLRewriteFilter
}

// branchFilters reads the filters of one backend.
func (b *builder) branchFilters(all []gatewayv1.HTTPRouteFilter, at string) (out branchFilters) {
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i := range all {
		f, at := &all[i], fmt.Sprintf("%s.filters[%d]", at, i)
		if seen[f.Type] {
			b.refuse(at, gatewayv1.RouteReasonIncompatibleFilters, "the backend has two filters of type "+string(f.Type))
			continue
		}
		seen[f.Type] = true
		switch {
		case f.Type != gatewayv1.HTTPRouteFilterRequestHeaderModifier && f.Type != gatewayv1.HTTPRouteFilterURLRewrite:
			b.unsupported(at+".type", "filters of type "+string(f.Type)+" are not served for single backends")
		case f.RequestHeaderModifier != nil && f.Type == gatewayv1.HTTPRouteFilterRequestHeaderModifier:
			out.headers = b.headers(f.RequestHeaderModifier, "req", at+".requestHeaderModifier")
		case f.URLRewrite != nil && f.Type == gatewayv1.HTTPRouteFilterURLRewrite:
			out.rewrite = f.URLRewrite
			b.checkHost(out.rewrite.Hostname, at+".urlRewrite.hostname")
			b.checkPath(out.rewrite.Path, at+".urlRewrite.path")
		default:
			b.unsupported(at, "has the type "+string(f.Type)+" and no settings of it")
		}
	}
	if most := b.mostHeaderBytes(); headerBytes(out.headers)+out.of(&model.Match{}).Bytes() > most {
		b.unsupported(at+".filters", fmt.Sprintf("changes of headers, host and path add up to more than %d bytes, which may not fit in HAProxy's buffer", most))
	}
	return out
}

// of returns what is done to host and path of the requests of a match.
func (f *branchFilters) of(m *model.Match) (out model.BranchRewrite) {
	if f.rewrite == nil {
		return out
	}
	out.Host = deref(f.rewrite.Hostname)
	if f.rewrite.Path != nil {
		out.Path = rewrite(f.rewrite.Path, m)
	}
	return out
}

// change has requests to a backend of the policy's claim get other headers, hosts and paths.
func (f *branchFilters) change(p *model.Policy, m *model.Match, backend string) {
	if len(f.headers) > 0 {
		if p.BranchHeaders == nil {
			p.BranchHeaders = map[string][]model.HeaderAction{}
		}
		p.BranchHeaders[backend] = f.headers
	}
	if to := f.of(m); to != (model.BranchRewrite{}) {
		if p.BranchRewrites == nil {
			p.BranchRewrites = map[string]model.BranchRewrite{}
		}
		p.BranchRewrites[backend] = to
	}
}

// branchByPrefix reports whether a filter of a backendRef replaces the prefix that a match has.
func branchByPrefix(ref gatewayv1.HTTPBackendRef) bool {
	return slices.ContainsFunc(ref.Filters, func(f gatewayv1.HTTPRouteFilter) bool { return byPrefix(f.URLRewrite) })
}

// byMatch reports whether what is done to a request depends on its match.
func (t *targets) byMatch() bool {
	return slices.ContainsFunc(t.branches, func(f branch) bool { return byPrefix(f.filters.rewrite) })
}
