package ingest

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// What the health checks of one route may cost each router: no endpoint is asked
// more often than every shortestCheck, and all of them not more than
// checksPerSecond times in a second.
const (
	shortestCheck   = time.Second
	checksPerSecond = 100
)

const (
	// NamespaceChecks is how many health checks a router makes in a second for
	// the routes of a namespace, if nothing else is said.
	NamespaceChecks = 500
	// handshakeChecks is for how many connections a check with a TLS handshake
	// counts.
	handshakeChecks = 5
	// longestCheck is the longest time between two health checks.
	longestCheck = 24 * time.Hour
)

// CheckBudget returns what the health checks of a namespace may add up to, as
// model.Claim.Checks counts them.
func (s Settings) CheckBudget() int64 {
	return int64(cmp.Or(s.NamespaceChecks, NamespaceChecks)) * int64(time.Hour/time.Second)
}

// CheckStretch returns how many times longer the pause between the health
// checks of a route is than it asks for, where it and all older ones of its
// namespace ask for so many. Up to the budget it is 1, up to twice the budget 4,
// up to four times 16, and so on: each doubling adds half of what the one before
// added, so all together make at most half as many checks more than the budget
// allows, and one route's.
func (s Settings) CheckStretch(asked int64) int {
	times := (max(asked, 1) - 1) / s.CheckBudget()
	return 1 << (2 * min(bits.Len64(uint64(times)), maxStretch)) // times is never negative
}

// maxStretch keeps the number, and times multiplied by it, in range.
const maxStretch = 8

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
			fmt.Sprintf("this route and the older ones of the namespace ask for more than %d health checks a second", cmp.Or(b.settings.NamespaceChecks, NamespaceChecks)),
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

func checkInterval(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}
