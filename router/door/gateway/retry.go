package gateway

import (
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// retry says when requests of a rule are tried again. The zero value is as for rules that do
// not say it: three times where there is no connection.
type retry struct {
	// never is for attempts: 0.
	never  bool
	repeat model.Repeat
	// total is how long all attempts together may take, or zero.
	total time.Duration
}

// usualAttempts are as many as those of rules without retry.
const usualAttempts = 3

// retry reads when requests of a rule are tried again. Once the pod's time is over, so is the
// client's, unless the two have timeouts of their own.
func (b *builder) retry(r *gatewayv1.HTTPRouteRetry, t timeouts, at string) (out retry) {
	if r == nil {
		return out
	}
	// Without ports for Gateways HAProxy has no profiles for them either, and no requests.
	b.depend(model.Object{Kind: door.KindSlots})
	b.checkBackoff(r.Backoff, at+".backoff")
	attempts := usualAttempts
	if r.Attempts != nil {
		attempts = *r.Attempts
	}
	if attempts < 0 {
		b.unsupported(at+".attempts", "must not be negative")
	}
	out.repeat = model.Repeat{Timeouts: t.backendRequest > 0 && t.backendRequest < none}
	for i, code := range r.Codes {
		if !out.repeat.Set(int(code)) {
			b.unsupported(fmt.Sprintf("%s.codes[%d]", at, i), "must be 500, 502, 503 or 504")
		}
	}
	for _, possible := range model.RepeatAttempts() {
		if int(possible) <= attempts {
			out.repeat.Attempts = possible
		}
	}
	if possible := int(out.repeat.Attempts); attempts > possible {
		b.find(api.SeverityWarning, at+".attempts", api.Reason(gatewayv1.RouteReasonUnsupportedValue),
			fmt.Sprintf("%d is no number of attempts that HAProxy has profiles for: 1 to 5, 10 and 100", attempts),
			fmt.Sprintf("requests are tried again %d times at most", possible))
	}
	switch {
	case out.repeat.Attempts == 0 || (!b.settings.GatewayPorts || b.settings.PortsUnbound) && !b.settings.SharedAddress:
		return retry{never: attempts == 0}
	case t.request > 0 && t.request < none:
		out.total = t.request
	}
	return out
}

// checkBackoff refuses a pause between attempts: HAProxy makes none.
func (b *builder) checkBackoff(text *gatewayv1.Duration, at string) {
	if text == nil {
		return
	}
	if d, err := time.ParseDuration(string(*text)); err != nil || d != 0 {
		b.unsupported(at, "must be 0s: the next attempt follows at once, at another pod")
	}
}

// profile sets what HAProxy fixes for a backend.
func (r *retry) profile(p *model.Profile) {
	switch {
	case r.never:
		p.Retry = model.RetryNever
	case r.repeat.Attempts > 0:
		p.Balance, p.Repeat = model.Random, r.repeat
	}
}

// all reports whether requests of a match are tried again whatever their method. Those of
// POST and its like may do something twice (RFC 9110, section 9.2.2), so the match has to name
// the method.
func (r *retry) all(m *model.Match) bool {
	return r.repeat.Attempts > 0 && m.Conditions != nil && m.Conditions.Method != ""
}
