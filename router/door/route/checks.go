package route

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// handshakeChecks is for how many connections a check with a TLS handshake counts.
const handshakeChecks = 5

// checks decides who finds out which endpoints answer, and how often: the router, where
// the group health says what it asks, else HAProxy.
func (b *builder) checks(c *model.Claim, spec *policy.Spec, endpoints int) {
	if c.Backend.Health = b.askable(spec.Health(c.Termination == model.Passthrough)); c.Backend.Health == nil {
		spec.CheckInterval = b.checkPace(c, spec.CheckInterval, endpoints)
	}
	from := b.result.Effective.Origin(policy.GroupHealth)
	if c.Termination == model.Passthrough && c.Backend.Health == nil && spec.Groups.Health != nil && (from == nil || from.Own()) {
		b.find(api.SeverityInfo, "metadata.annotations["+policy.AnnotationHealthType+"]", api.ReasonAnnotationIgnored, "has no effect with passthrough termination, but for tcp", "HAProxy checks the endpoints by connections")
	}
}

// askable returns nil for pods that the router cannot ask: it has no certificate and no
// PROXY header for them, as HAProxy does.
func (b *builder) askable(h *model.Health) *model.Health {
	m := b.upstream.more
	if h == nil || m == nil || m.ClientCert == "" && m.ProxyProtocol == 0 && !m.OnlyHTTP2 {
		return h
	}
	field, message := "metadata.annotations["+policy.AnnotationHealthType+"]", "a policy has pods spoken to with a client certificate, a PROXY header or HTTP/2 alone, which only HAProxy does"
	if from := b.result.Effective.Origin(policy.GroupHealth); from != nil && !from.Own() {
		field, message = "", from.Title()+" "+from.Field(policy.GroupHealth)+": "+message
	}
	b.find(api.SeverityWarning, field, api.ReasonPolicyNotApplicable, message, "HAProxy checks the endpoints by connections")
	return nil
}

// checkPace returns the time between health checks of each of so many
// endpoints, and notes what the route asks for.
func (b *builder) checkPace(c *model.Claim, asked time.Duration, endpoints int) time.Duration {
	pace := backend.CheckPace(asked, endpoints)
	v, set := b.route.Annotations[api.AnnotationCheckInterval]
	if read, err := api.ParseTime(v); pace != asked && set && err == nil && read == asked {
		b.find(api.SeverityWarning, "metadata.annotations["+api.AnnotationCheckInterval+"]", api.ReasonInvalidAnnotation,
			fmt.Sprintf("asks too often: every %s at most, and %d times in a second for all endpoints of a route", backend.ShortestCheck, backend.ChecksPerSecond),
			fmt.Sprintf("health checks are made every %s", pace))
	}
	if endpoints < 2 {
		return pace
	}
	c.Checks = checksOf(c.Termination, pace, endpoints)
	if stretched := backend.Stretched(pace, b.past.Stretch); stretched != pace {
		pace = stretched
		b.find(api.SeverityWarning, "spec.to", api.ReasonTooManyHealthChecks,
			fmt.Sprintf("this route and the older ones of the namespace ask for more than %d health checks a second", cmp.Or(b.settings.NamespaceChecks, door.NamespaceChecks)),
			fmt.Sprintf("health checks are made every %s", pace))
	}
	return pace
}

// checksOf returns how many health checks an hour a route asks for.
func checksOf(t model.Termination, pace time.Duration, endpoints int) int64 {
	n := backend.Checks(pace, endpoints)
	if t == model.Reencrypt {
		n = backend.Checks(pace/handshakeChecks, endpoints)
	}
	return n
}
