package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/policy"
)

// everyRequest is the share of all requests, in hundredths of a percent.
const everyRequest = 10000

// addMirror reads a filter that has requests copied. A reference that cannot be used gets no
// copies, and keeps no request from its pod.
func (b *builder) addMirror(out *filters, f *gatewayv1.HTTPRequestMirrorFilter, at string) {
	if why := b.settings.AgentLack(); why != "" {
		b.unsupported(at, why)
		return
	}
	share, ok := mirrorShare(f)
	if !ok {
		b.unsupported(at, "must have a percent from 0 to 100, or a fraction from 0 to 1, and not both")
		return
	}
	target, ok := b.endpoints(&f.BackendRef, at+".backendRef", policy.EffectNoMirror)
	if !ok || share == 0 {
		return
	}
	if target.tls != nil {
		b.find(api.SeverityWarning, at+".backendRef", api.ReasonBackendTLSPolicyInvalid,
			"a BackendTLSPolicy wants the pods of Service "+string(f.BackendRef.Name)+" verified, and the policy agent sends copies without TLS", policy.EffectNoMirror)
		return
	}
	endpoints := target.endpoints
	to := authentication.Copies{Namespace: b.route.Namespace, Service: string(f.BackendRef.Name), Port: int32(*f.BackendRef.Port), Share: share}
	if f.BackendRef.Namespace != nil {
		to.Namespace = string(*f.BackendRef.Namespace)
	}
	for i := range endpoints {
		to.HTTP2 = to.HTTP2 || endpoints[i].H2C
		if !endpoints[i].Idle {
			to.Endpoints = append(to.Endpoints, endpoints[i].Address)
		}
	}
	out.mirrors = append(out.mirrors, to)
}

// mirrorShare returns the share of the requests that are copied, and false if the filter
// does not say one.
func mirrorShare(f *gatewayv1.HTTPRequestMirrorFilter) (share int, ok bool) {
	switch {
	case f.Percent != nil && f.Fraction != nil:
		return 0, false
	case f.Percent != nil:
		return int(*f.Percent) * 100, *f.Percent >= 0 && *f.Percent <= 100
	case f.Fraction != nil:
		of := int64(100)
		if f.Fraction.Denominator != nil {
			of = int64(*f.Fraction.Denominator)
		}
		part := int64(f.Fraction.Numerator)
		if of < 1 || part < 0 || part > of {
			return 0, false
		}
		return int(part * everyRequest / of), true
	}
	return everyRequest, true
}

// compileMirrors turns the copies of a rule into what the policy agent sends.
func (b *builder) compileMirrors(out *filters, field string) {
	if len(out.mirrors) == 0 {
		return
	}
	if n := len(out.mirrors); n > policy.MostMirrorTargets {
		b.unsupported(field+".filters", fmt.Sprintf("has %d filters of type RequestMirror; %d are served", n, policy.MostMirrorTargets))
		return
	}
	mirror, err := authentication.MirrorTo(b.result.Object, field, out.mirrors)
	if err != nil {
		b.unsupported(field+".filters", "copies of requests: "+err.Error())
		return
	}
	out.mirror = mirror
}
