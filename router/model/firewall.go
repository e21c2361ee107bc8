package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sockets of the firewall, in its folder: where HAProxy asks it, and where the router reads
// its metrics.
const (
	FirewallSocket        = "waf.sock"
	FirewallMetricsSocket = "waf-metrics.sock"
)

// Firewall judges requests by the OWASP core rule set.
type Firewall struct {
	// Rules are sets of settings, each of which a request must pass.
	Rules []FirewallRules
	// Body is how many bytes of a body are judged. Longer ones get 413 with RefusesOver.
	Body        int
	RefusesOver bool
}

// FirewallRules are the settings of the core rule set.
type FirewallRules struct {
	// Block is false where matches are only counted and logged.
	Block bool
	// Paranoia is from 1 to 4, Threshold the score of an attack.
	Paranoia, Threshold int
	// Without are the IDs of rules that are not applied, in order.
	Without []int
}

// Blocks reports whether requests may be refused.
func (f *Firewall) Blocks() bool {
	return f != nil && slices.ContainsFunc(f.Rules, func(r FirewallRules) bool { return r.Block })
}

// Add takes one more set of settings in. One that another one covers is left out: all
// requests that it refuses are refused by the other.
func (f *Firewall) Add(r FirewallRules) {
	if slices.ContainsFunc(f.Rules, func(has FirewallRules) bool { return has.covers(&r) }) {
		return
	}
	f.Rules = append(slices.DeleteFunc(f.Rules, func(has FirewallRules) bool { return r.covers(&has) }), r)
	slices.SortFunc(f.Rules, func(a, b FirewallRules) int { return cmp.Compare(a.record(), b.record()) })
}

// covers reports whether r finds all attacks that the other one finds, and refuses those
// that it refuses.
func (r *FirewallRules) covers(other *FirewallRules) bool {
	return (r.Block || !other.Block) && r.Paranoia >= other.Paranoia && r.Threshold <= other.Threshold &&
		!slices.ContainsFunc(r.Without, func(id int) bool { return !slices.Contains(other.Without, id) })
}

// Covers reports whether f refuses all requests that the other firewall refuses.
func (f *Firewall) Covers(other *Firewall) bool {
	if !other.Blocks() {
		return true
	}
	if f == nil || f.Body < other.Body || other.RefusesOver && !f.RefusesOver {
		return false
	}
	for i := range other.Rules {
		r := &other.Rules[i]
		if r.Block && !slices.ContainsFunc(f.Rules, func(has FirewallRules) bool { return has.covers(r) }) {
			return false
		}
	}
	return true
}

// record writes settings for the firewall: MODE.PARANOIA.THRESHOLD[.ID,ID…].
func (r *FirewallRules) record() string {
	mode := "D"
	if r.Block {
		mode = "B"
	}
	out := fmt.Sprintf("%s.%d.%d", mode, r.Paranoia, r.Threshold)
	if len(r.Without) == 0 {
		return out
	}
	ids := make([]string, len(r.Without))
	for i, id := range r.Without {
		ids[i] = strconv.Itoa(id)
	}
	return out + "." + strings.Join(ids, ",")
}

// firewall writes the field of a record. HAProxy reads what is before the second colon,
// and the firewall the rest (firewall.Parse):
//
//	BODY:r:SETTINGS+… or BODY:p:SETTINGS+…
func firewall(p *Policy) string {
	f := p.Firewall
	if f == nil {
		return ""
	}
	over := "p"
	if f.RefusesOver && f.Blocks() {
		over = "r"
	}
	all := make([]string, len(f.Rules))
	for i := range f.Rules {
		all[i] = f.Rules[i].record()
	}
	return strconv.Itoa(f.Body) + ":" + over + ":" + strings.Join(all, "+")
}

// String says what is judged, for people.
func (f *Firewall) String() string {
	var parts []string
	for _, r := range f.Rules {
		mode := "detect"
		if r.Block {
			mode = "block"
		}
		part := fmt.Sprintf("%s from score %d at paranoia %d", mode, r.Threshold, r.Paranoia)
		if n := len(r.Without); n > 0 {
			part += fmt.Sprintf(" without %d rules", n)
		}
		parts = append(parts, part)
	}
	over := "longer ones pass by their first part"
	if f.RefusesOver && f.Blocks() {
		over = "longer ones get 413"
	}
	return strings.Join(parts, ", ") + fmt.Sprintf("; %d bytes of a body, %s", f.Body, over)
}
