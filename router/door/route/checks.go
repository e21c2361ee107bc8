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

func checkInterval(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}
