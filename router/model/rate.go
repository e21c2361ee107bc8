package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KeyKind is what requests have in common that a limit counts together.
type KeyKind string

// The kinds of keys.
const (
	KeyAddress KeyKind = "Address"
	KeyHeader  KeyKind = "Header"
	KeyCookie  KeyKind = "Cookie"
	KeyQuery   KeyKind = "Query"
	KeyHost    KeyKind = "Host"
	// KeyNone counts all requests of a route together.
	KeyNone KeyKind = "None"
	// KeyConsumer and KeyClaim are known after authentication.
	KeyConsumer KeyKind = "Consumer"
	KeyClaim    KeyKind = "Claim"
)

// LimitKey is what a limit counts by. A request without the header, cookie,
// parameter, consumer or claim is counted by its address.
type LimitKey struct {
	Kind KeyKind
	// Name is that of the header (in lower case), cookie, parameter or claim.
	Name string
	// IPv6Prefix is how many bits of an IPv6 address count, for KeyAddress.
	IPv6Prefix int
}

// DefaultIPv6Prefix is what networks give to one site or host at least.
const DefaultIPv6Prefix = 64

// String completes "20/s burst 40".
func (k LimitKey) String() string {
	switch k.Kind {
	case KeyHeader:
		return "by header " + k.Name
	case KeyCookie:
		return "by cookie " + k.Name
	case KeyQuery:
		return "by query parameter " + k.Name
	case KeyHost:
		return "by host"
	case KeyNone:
		return "for all requests together"
	case KeyConsumer:
		return "by consumer"
	case KeyClaim:
		return "by claim " + k.Name
	case KeyAddress:
	}
	if k.IPv6Prefix != DefaultIPv6Prefix {
		return "by address, IPv6 by /" + strconv.Itoa(k.IPv6Prefix)
	}
	return "by address"
}

// otherKey begins keys that are not the client's address, IPv6 by /64. Nothing else
// of a record of limits has it.
const otherKey = "="

// record is what templates/limits.lua reads. Names are in hexadecimal, because they
// may have characters that separate fields.
func (k LimitKey) record() string {
	name := hex.EncodeToString([]byte(k.Name))
	switch k.Kind {
	case KeyHeader:
		return otherKey + "h" + name
	case KeyCookie:
		return otherKey + "c" + name
	case KeyQuery:
		return otherKey + "q" + name
	case KeyHost:
		return otherKey + "o"
	case KeyNone:
		return otherKey + "n"
	case KeyConsumer:
		return otherKey + "u"
	case KeyClaim:
		return otherKey + "i" + name
	case KeyAddress:
	}
	if k.IPv6Prefix != DefaultIPv6Prefix {
		return otherKey + "a" + strconv.Itoa(k.IPv6Prefix/4)
	}
	return ""
}

// Identity reports whether the key is what authentication finds out about the client.
func (k LimitKey) Identity() bool { return k.Kind == KeyConsumer || k.Kind == KeyClaim }

// RateHeaders are the headers by which clients are told of a limit.
type RateHeaders string

// The headers.
const (
	HeadersDraft  RateHeaders = "Draft"
	HeadersLegacy RateHeaders = "Legacy"
	HeadersNone   RateHeaders = "None"
)

// RateLimit admits Burst requests at once, and Requests in the time Per (the generic
// cell rate algorithm). Refused requests do not count.
type RateLimit struct {
	Name     string
	Requests int
	Per      time.Duration
	Burst    int
	Key      LimitKey
	// Exempt clients are not counted.
	Exempt []netip.Prefix
	// Status of refused requests is 429 or 503.
	Status  int
	Headers RateHeaders
	// DryRun refuses nothing.
	DryRun bool
	// Shared limits are counted by all replicas together.
	Shared bool
	// Match are the requests that it counts.
	Match RequestMatch
}

// What one route may have, because each limit has rules of its own in HAProxy.
const (
	MaxRates       = 4
	MaxConcurrents = 2
	// MaxIdentified count by identity. HAProxy keeps two numbers for each with a verdict.
	MaxIdentified = 2
	// MaxIdentifiedConcurrents have their numbers after those.
	MaxIdentifiedConcurrents = 1
	MaxIdentities            = MaxIdentified + MaxIdentifiedConcurrents
	// MaxLimits is how many rates there may be of all kinds, those that the agent counts
	// included.
	MaxLimits = 8
)

// String is what explain prints: "20/s burst 40 by address".
func (r *RateLimit) String() string {
	text := fmt.Sprintf("%d/%s burst %d %s%s", r.Requests, perText(r.Per), r.Burst, r.Key, &r.Match)
	if r.DryRun {
		text += " (dry run)"
	}
	if r.Shared {
		text += " (over all replicas)"
	}
	return text
}

func perText(per time.Duration) string {
	for _, unit := range []struct {
		name string
		time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := per / unit.Duration; n == 1 && per == unit.Duration {
			return unit.name
		} else if per%unit.Duration == 0 {
			return strconv.Itoa(int(n)) + unit.name
		}
	}
	return per.String()
}

// HAProxy keeps, for each key, the time at which its burst will be whole again (the
// theoretical arrival time), in 32 bits. The clock of each limit counts in parts of
// the time between two requests, so that this time is rateParts.
const (
	// ClockScale is what HAProxy multiplies microseconds by before it divides them by
	// the unit of a limit, because a unit need not be whole microseconds.
	ClockScale = 8192
	// maxParts is precise enough; a power of two makes weights exact.
	maxParts = 4096
	// RateWeight is what a request that is left weighs, whatever its limit.
	RateWeight = 1 << 30
	// MaxRateWindow is how long HAProxy remembers a key at most, and so the longest time
	// in which a whole burst is earned.
	MaxRateWindow = 24 * time.Hour
	// clockSlack is how far the clocks of two threads may differ, and the clock be set
	// back, without that a time ahead counts as one long ago.
	clockSlack = 5 * time.Second
	// takenTooMuch is how many requests may be counted above a burst for a moment: one for
	// each thread of HAProxy, of which it has up to 64. They were not in time for it and
	// go back, but a request that looks meanwhile must not take the key for one of long ago.
	takenTooMuch = 64
)

// parts is how many parts of the limit's clock are between two requests. The clock
// may not come round while HAProxy remembers a key, and a burst is a quarter of its
// round at most.
func (r *RateLimit) parts() int64 {
	const remembered = 2*MaxRateWindow + clockSlack
	n := int64(maxParts)
	for n > 1 && (n*int64(r.Burst) > RateWeight || float64(n)*float64(remembered)*float64(r.Requests) > float64(r.Per)*(1<<32)) {
		n /= 2
	}
	return n
}

// RateField is the place of a value in the record of a limit of rates.
type RateField int

// The fields of a record, which colons separate. After RateKey and ConcurrentKey there
// may be the limit's match: templates/limits.lua reads both.
const (
	// RateID begins with RateDry or RateReal.
	RateID RateField = 1 + iota
	// RateUnit is the duration of a part, in microseconds times ClockScale.
	RateUnit
	// RateParts are between two requests.
	RateParts
	// RateAhead is how far the time of a key may be ahead, for one more request to be
	// admitted; RateWhole is how far a whole burst takes it, and RateInvalid how far it
	// never is.
	RateAhead
	RateWhole
	RateInvalid
	// RatePartWeight is RateWeight divided by RateParts.
	RatePartWeight
	RateStatus
	// RateForm is one of the Form letters.
	RateForm
	RateName
	// RateQuota and RateWindow (in seconds) are told to clients.
	RateQuota
	RateWindow
	RateKey
)

// Letters of records.
const (
	RateDry    = "D"
	RateReal   = "R"
	FormDraft  = "d"
	FormLegacy = "l"
	FormNone   = "n"
)

func (r *RateLimit) record() string {
	n := r.parts()
	unit := ceil(int64(r.Per/time.Microsecond)*ClockScale, int64(r.Requests)*n)
	slack := ceil(int64(clockSlack/time.Microsecond)*ClockScale, unit)
	form := map[RateHeaders]string{HeadersDraft: FormDraft, HeadersLegacy: FormLegacy}[r.Headers]
	if form == "" {
		form = FormNone
	}
	burst := int64(r.Burst)
	window := ceil(burst*int64(r.Per/time.Millisecond), int64(r.Requests)*1000)
	fields := []string{
		strconv.FormatInt(unit, 10), strconv.FormatInt(n, 10), strconv.FormatInt((burst-1)*n, 10), strconv.FormatInt(burst*n, 10), strconv.FormatInt((burst+takenTooMuch)*n+slack, 10),
		strconv.FormatInt(RateWeight/n, 10), strconv.Itoa(r.Status), form, r.Name, strconv.Itoa(r.Burst), strconv.FormatInt(window, 10), r.Key.record(),
	}
	text := strings.Join(fields, rateSeparator) + r.Match.field()
	mode := RateReal
	if r.DryRun {
		mode = RateDry
	}
	return mode + limitID(text) + rateSeparator + text
}

// limitID tells the limits of a route apart. A limit that changes counts from
// zero, because what was counted has other units.
func limitID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// rateSeparator ends each field of a limit, limitSeparator each limit.
const rateSeparator, limitSeparator = ":", "+"

// ConcurrentLimit bounds the requests that are under way at the same time.
type ConcurrentLimit struct {
	Count int
	Key   LimitKey
	// Status of refused requests is 429 or 503.
	Status int
	// Match are the requests that it counts.
	Match RequestMatch
}

// String is what explain prints.
func (c *ConcurrentLimit) String() string {
	return fmt.Sprintf("%d at the same time %s%s", c.Count, c.Key, &c.Match)
}

// The fields of the record of a limit of concurrent requests.
const (
	ConcurrentID RateField = 1 + iota
	ConcurrentCount
	ConcurrentStatus
	ConcurrentKey
)

// record has an ID of what is counted, not of how much: what is under way goes on
// counting where the limit changes.
func (c *ConcurrentLimit) record() string {
	key := c.Key.record() + c.Match.field()
	return strings.Join([]string{"C" + limitID(key), strconv.Itoa(c.Count), strconv.Itoa(c.Status), key}, rateSeparator)
}

// rates and concurrents write the limits of a policy. Equal limits of several
// policies count by themselves, which takes different IDs.
func rates(p *Policy) string { return joinLimits(rateRecords(p.Rates)) }

// identified writes rates, and limits of concurrent requests at the places after those.
func identified(p *Policy) string {
	records := rateRecords(p.Identified)
	if len(p.IdentifiedConcurrents) > 0 {
		records = append(records, make([]string, max(MaxIdentified-len(records), 0))...)
	}
	for i := range p.IdentifiedConcurrents {
		records = append(records, p.IdentifiedConcurrents[i].record())
	}
	return joinLimits(records)
}

func rateRecords(limits []RateLimit) []string {
	records := make([]string, len(limits))
	for i := range limits {
		records[i] = limits[i].record()
	}
	return records
}

// counting is the ID of the limits that the agent counts.
func counting(p *Policy) string {
	if p.Counted == nil {
		return ""
	}
	return p.Counted.ID
}

func concurrents(p *Policy) string {
	records := make([]string, len(p.Concurrents))
	for i := range p.Concurrents {
		records[i] = p.Concurrents[i].record()
	}
	return joinLimits(records)
}

func joinLimits(records []string) string {
	seen := map[string]int{}
	for i, text := range records {
		id, rest, _ := strings.Cut(text, rateSeparator)
		if seen[id]++; id != "" && seen[id] > 1 {
			records[i] = id + "-" + strconv.Itoa(seen[id]) + rateSeparator + rest
		}
	}
	return strings.Join(records, limitSeparator)
}

// counted reports whether requests are counted by Rates and Concurrents.
func (p *Policy) counted() bool { return len(p.Rates) > 0 || len(p.Concurrents) > 0 }

// countsByBits reports whether that needs the bits of the client's address.
func (p *Policy) countsByBits() bool {
	if slices.ContainsFunc(p.Identified, func(r RateLimit) bool { return len(r.Exempt) > 0 }) {
		return true
	}
	for i := range p.Rates {
		if r := &p.Rates[i]; len(r.Exempt) > 0 || r.Key.byBits() {
			return true
		}
	}
	for i := range p.Concurrents {
		if p.Concurrents[i].Key.byBits() {
			return true
		}
	}
	return false
}

// UnidentifiedShared has limits over all replicas by identity count by address where nothing
// finds out who clients are: with those that come before authentication.
func (p *Policy) UnidentifiedShared() {
	if p.Agent == nil {
		p.Shared, p.SharedIdentified = slices.Concat(p.Shared, p.SharedIdentified), nil
	}
}

func (k LimitKey) byBits() bool { return k.Kind == KeyAddress && k.IPv6Prefix != DefaultIPv6Prefix }
