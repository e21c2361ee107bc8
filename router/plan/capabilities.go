package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Capabilities are what a version of HAProxy can do. They follow from the version,
// never from configuration.
type Capabilities struct {
	// DynamicBackends: backends come and go at run time (3.4).
	DynamicBackends bool
	// GUIDs: backends that come at run time have identifiers, too, by which HAProxy lists
	// counters in a third of the time (3.4).
	GUIDs bool
	// AutoSNI: servers send SNI and verify it unless told not to (3.3).
	AutoSNI bool
	// Lua: header actions work. A build without Lua lacks it.
	Lua bool
	// HeaderLists: fixed header actions work without Lua (3.4).
	HeaderLists bool
	// SubtractCounters: rules can count backwards, with any number of counters (3.2).
	SubtractCounters bool
	// BackendTimeouts: rules set the timeouts of connections and queues (3.4).
	BackendTimeouts bool
	// PlainLogFormat: answers by a log format have line breaks as they are (3.2).
	PlainLogFormat bool
	// BoundSessions: a TLS session is resumed only where it began, with the same options
	// of the list of certificates (seen with 3.2.26 and 3.4.7; 3.0.11 resumes any).
	BoundSessions bool
	// LogProfiles: each log of a frontend may have a format of its own (3.1).
	LogProfiles bool
	// RulesAtOnce: how many rules are evaluated at a time can be chosen (3.2).
	RulesAtOnce bool
	// MaxPayload is the largest payload of one command, in bytes.
	MaxPayload int
}

// Payloads of a command: the whole of a buffer before 3.4, and what 3.4 takes in
// parts, less what the command itself needs.
const (
	smallPayload = 15 << 10
	largePayload = 900 << 10
)

// CapabilitiesOf returns what a version such as "3.4" or "3.2.26-1" can do if it is
// built with Lua. The error says which versions can be used.
func CapabilitiesOf(version string) (Capabilities, error) {
	majorText, rest, _ := strings.Cut(version, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err1 := strconv.Atoi(majorText)
	minor, err2 := strconv.Atoi(rest[:end])
	if err1 != nil || err2 != nil {
		return Capabilities{}, fmt.Errorf("%q is not a version of HAProxy, such as 3.4", version)
	}
	atLeast := func(m, n int) bool { return major > m || major == m && minor >= n }
	if !atLeast(3, 0) {
		return Capabilities{}, fmt.Errorf("HAProxy %s is too old; 3.0 or newer is needed, 3.4 to change routes without a reload", version)
	}
	c := Capabilities{DynamicBackends: atLeast(3, 4), GUIDs: atLeast(3, 4), HeaderLists: atLeast(3, 4), BackendTimeouts: atLeast(3, 4), AutoSNI: atLeast(3, 3), SubtractCounters: atLeast(3, 2), PlainLogFormat: atLeast(3, 2), LogProfiles: atLeast(3, 1), RulesAtOnce: atLeast(3, 2), Lua: true, MaxPayload: smallPayload}
	patch := patchOf(rest[end:])
	c.BoundSessions = atLeast(3, 5) || atLeast(3, 4) && patch >= 7 || major == 3 && minor == 2 && patch >= 26
	if atLeast(3, 4) {
		c.MaxPayload = largePayload
	}
	return c, nil
}

// patchOf reads ".26-1". A version without it is the newest of its branch, and a
// development version older than all.
func patchOf(text string) int {
	if text == "" {
		return math.MaxInt
	}
	digits := strings.TrimPrefix(text, ".")
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.Atoi(digits)
	if err != nil || !strings.HasPrefix(text, ".") {
		return 0
	}
	return n
}
