package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Fault delays requests that meet all of When, or answers them in place of the pods.
type Fault struct {
	// Delay is in milliseconds, Abort a status; 0 is none. Each is for a percentage of the
	// requests.
	Delay, DelayPercent int
	Abort, AbortPercent int
	// When are compared as the rules of a canary are; where these lead counts for nothing.
	When []CanaryRule
}

// fault writes the field of a record that templates/fault.lua reads:
//
//	MILLISECONDS:PERCENT;STATUS:PERCENT;RULE+…
func fault(p *Policy) string {
	f := p.Fault
	if f == nil {
		return ""
	}
	rules := make([]string, len(f.When))
	for i := range f.When {
		rules[i] = f.When[i].record()
	}
	return fmt.Sprintf("%d:%d;%d:%d;%s", f.Delay, f.DelayPercent, f.Abort, f.AbortPercent, strings.Join(rules, "+"))
}

// String says what happens, for people.
func (f *Fault) String() string {
	var parts []string
	if f.Delay > 0 {
		parts = append(parts, strconv.Itoa(f.DelayPercent)+" % wait "+strconv.Itoa(f.Delay)+" ms")
	}
	if f.Abort > 0 {
		parts = append(parts, strconv.Itoa(f.AbortPercent)+" % get "+strconv.Itoa(f.Abort))
	}
	return strings.Join(parts, ", ")
}
