package model

import (
	"slices"
	"strconv"
	"strings"
)

// Repeat says what else than a missing connection has a request tried again at another
// server, and how often. HAProxy fixes it for a backend.
type Repeat struct {
	// Attempts beyond the first are one of RepeatAttempts; with 0 Profile.Retry decides.
	Attempts uint8
	// Codes has a bit for each of RepeatCodes.
	Codes uint8
	// Timeouts has requests tried again whose answer does not begin in time.
	Timeouts bool
}

// RepeatAttempts returns how often requests can be tried again.
func RepeatAttempts() []uint8 { return []uint8{1, 2, 3, 4, 5, 10, 100} }

// RepeatCodes returns the statuses that requests can be tried again for.
func RepeatCodes() []int { return []int{500, 502, 503, 504} }

// Set has answers of a status tried again, and reports whether that can be.
func (r *Repeat) Set(code int) bool {
	i := slices.Index(RepeatCodes(), code)
	if i >= 0 {
		r.Codes |= 1 << i
	}
	return i >= 0
}

// Texts returns the statuses as HAProxy reads them.
func (r Repeat) Texts() (codes []string) {
	for i, code := range RepeatCodes() {
		if r.Codes&(1<<i) != 0 {
			codes = append(codes, strconv.Itoa(code))
		}
	}
	return codes
}

// suffix ends the names of profiles.
func (r Repeat) suffix() string {
	if r.Attempts == 0 {
		return ""
	}
	name := "_repeat" + strconv.Itoa(int(r.Attempts))
	if codes := r.Texts(); len(codes) > 0 {
		name += "_" + strings.Join(codes, "_")
	}
	if r.Timeouts {
		name += "_timeout"
	}
	return name
}

// RepeatProfiles returns the profiles with a Repeat, in a fixed order. Only routes of
// Gateways have them, so HAProxy has them only together with ports for Gateways.
func RepeatProfiles() []Profile {
	var all []Profile
	for _, attempts := range RepeatAttempts() {
		for codes := range uint8(1) << len(RepeatCodes()) {
			for _, timeouts := range []bool{false, true} {
				all = append(all, Profile{Balance: Random, Repeat: Repeat{attempts, codes, timeouts}})
			}
		}
	}
	return all
}
