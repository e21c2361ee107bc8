package backend

import (
	"math/bits"
	"strconv"
	"time"
)

// What the health checks of one route may cost each router: no endpoint is asked
// more often than every ShortestCheck, and all of them not more than
// ChecksPerSecond times in a second.
const (
	ShortestCheck   = time.Second
	ChecksPerSecond = 100
	// LongestCheck is the longest time between two health checks.
	LongestCheck = 24 * time.Hour
)

// CheckPace returns the time between health checks of each of so many endpoints. It
// doubles what is too short for them, so that it does not change with each of them,
// which would make new servers of all.
func CheckPace(asked time.Duration, endpoints int) time.Duration {
	pace := max(asked, ShortestCheck)
	for endpoints > 1 && float64(endpoints)/pace.Seconds() > ChecksPerSecond {
		pace *= 2
	}
	return pace
}

// Checks returns how many health checks an hour so many endpoints, two or more, ask for.
// They count as the next power of two, so that one more seldom moves other routes.
func Checks(pace time.Duration, endpoints int) int64 {
	n := int64(1) << bits.Len(uint(endpoints-1))
	return max(n*int64(time.Hour)/int64(pace), 1)
}

// Stretched returns the pace, so many times longer.
func Stretched(pace time.Duration, times int) time.Duration {
	if times <= 1 || pace >= LongestCheck {
		return pace
	}
	return min(pace*time.Duration(times), LongestCheck)
}

// Milliseconds returns HAProxy's text for a time.
func Milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}
