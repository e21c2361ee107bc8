package gateway

import (
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// none is longer than any request may last: HAProxy's longest timeout is less than 25 days.
const none = 24 * 24 * time.Hour

// timeouts are those of a rule; zero is the router's default.
type timeouts struct {
	// request is for all attempts together, backendRequest for each.
	request, backendRequest time.Duration
}

// attempt returns how long one attempt may take.
func (t timeouts) attempt() time.Duration {
	if t.request == 0 || t.backendRequest == 0 {
		return t.request + t.backendRequest
	}
	return min(t.request, t.backendRequest)
}

// timeouts reads those of a rule.
func (b *builder) timeouts(t *gatewayv1.HTTPRouteTimeouts, at string) (out timeouts) {
	if t == nil {
		return out
	}
	out.request = b.duration(t.Request, at+".request")
	out.backendRequest = b.duration(t.BackendRequest, at+".backendRequest")
	return out
}

// duration reads a time, and returns zero if there is none. The API's zero is none.
func (b *builder) duration(text *gatewayv1.Duration, at string) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(string(*text))
	switch {
	case err != nil || d < 0 || d > 0 && d < time.Millisecond:
		b.unsupported(at, "must be a time such as 10s")
		return 0
	case d == 0 || d > none:
		return none
	}
	return d
}
