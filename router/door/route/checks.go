package route

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// What the health checks of one route may cost each router: no endpoint is asked
// more often than every shortestCheck, and all of them not more than
// checksPerSecond times in a second.
const (
	shortestCheck   = time.Second
	checksPerSecond = 100
)

const (
	// handshakeChecks is for how many connections a check with a TLS handshake
	// counts.
	handshakeChecks = 5
	// longestCheck is the longest time between two health checks.
	longestCheck = 24 * time.Hour
)

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
// endpoints, and notes what the route asks for. It doubles what is too short for
// them, so that it does not change with each of them, which would make new
// servers of all.
func (b *builder) checkPace(c *model.Claim, asked time.Duration, endpoints int) time.Duration {
	pace := max(asked, shortestCheck)
	for endpoints > 1 && float64(endpoints)/pace.Seconds() > checksPerSecond {
		pace *= 2
	}
	v, set := b.route.Annotations[api.AnnotationCheckInterval]
	if read, err := api.ParseTime(v); pace != asked && set && err == nil && read == asked {
		b.find(api.SeverityWarning, "metadata.annotations["+api.AnnotationCheckInterval+"]", api.ReasonInvalidAnnotation,
			fmt.Sprintf("asks too often: every %s at most, and %d times in a second for all endpoints of a route", shortestCheck, checksPerSecond),
			fmt.Sprintf("health checks are made every %s", pace))
	}
	if endpoints < 2 {
		return pace
	}
	c.Checks = checksOf(c.Termination, pace, endpoints)
	if b.stretch > 1 && pace < longestCheck {
		pace = min(pace*time.Duration(b.stretch), longestCheck)
		b.find(api.SeverityWarning, "spec.to", api.ReasonTooManyHealthChecks,
			fmt.Sprintf("this route and the older ones of the namespace ask for more than %d health checks a second", cmp.Or(b.settings.NamespaceChecks, door.NamespaceChecks)),
			fmt.Sprintf("health checks are made every %s", pace))
	}
	return pace
}

// checksOf returns how many health checks an hour a route asks for. Endpoints
// count as the next power of two, so that one more seldom moves other routes.
func checksOf(t model.Termination, pace time.Duration, endpoints int) int64 {
	n := int64(1) << bits.Len(uint(endpoints-1)) // there are two or more
	if t == model.Reencrypt {
		n *= handshakeChecks
	}
	return max(n*int64(time.Hour)/int64(pace), 1)
}

// milliseconds returns HAProxy's text for a time.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}
