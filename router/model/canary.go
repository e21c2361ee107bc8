package model

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Canary says which requests of a claim go to its further targets (Claim.Split). They
// are chosen after everything else that the claim asks for has been done, so all of it
// holds for them, too.
type Canary struct {
	// Rules are tried in their order; the first that is met decides.
	Rules []CanaryRule
	// Branches are the further targets, with their shares of Total.
	Branches []Branch
	Total    int
	// Cookie keeps clients where weights have sent them; nil if they need not stay.
	Cookie *BranchCookie
}

// Branch is a further target.
type Branch struct {
	// Backend is the name of its backend.
	Backend string
	Weight  int
	// ID is what the cookie says of it: hexadecimal digits.
	ID string
}

// CanaryRule compares a value of a request.
type CanaryRule struct {
	Source  CanarySource
	Name    string
	Compare CanaryCompare
	Value   string
	// To is the number of a branch, counted from 1, or 0 for the claim's own backend.
	To int
}

// CanarySource is where a value stands in a request.
type CanarySource string

// The sources, by the letters that stand for them in a record.
const (
	CanaryHeader CanarySource = "h"
	CanaryCookie CanarySource = "c"
	CanaryQuery  CanarySource = "q"
)

// CanaryCompare is how a value is compared.
type CanaryCompare string

// The ways, by the letters that stand for them in a record.
const (
	CanaryExact   CanaryCompare = "e"
	CanaryPrefix  CanaryCompare = "p"
	CanaryPresent CanaryCompare = "x"
	CanaryRegex   CanaryCompare = "r"
)

// CanaryRegexBytes is the longest value that a regular expression is applied to,
// which bounds what it costs.
const CanaryRegexBytes = 128

// BranchCookie is the cookie by which clients stay with a branch.
type BranchCookie struct {
	Name   string
	Secure bool
	// MaxAge is in seconds; zero is until the browser ends.
	MaxAge int
}

// OwnBranch is what the cookie says of the claim's own backend.
const OwnBranch = "0"

// Left returns the weight that the claim's own backend has.
func (c *Canary) Left() int {
	left := c.Total
	for _, b := range c.Branches {
		left -= b.Weight
	}
	return max(left, 0)
}

// Held returns the branch that a cookie keeps a client with, and false if none does: a
// branch that gets no requests any more keeps no clients.
func (c *Canary) Held(id string) (to int, kept bool) {
	if id == OwnBranch {
		return 0, c.Left() > 0
	}
	for i, b := range c.Branches {
		if b.ID == id {
			return i + 1, b.Weight > 0
		}
	}
	return 0, false
}

// BranchMark stands between the names of a claim's owner and of a branch's Service in
// the name of its backend.
const BranchMark = "_canary_"

// BranchRule is the rule of a branch's backend.
func BranchRule(rule, service string) string {
	if rule != "" {
		rule += "_"
	}
	return rule + strings.TrimPrefix(BranchMark, "_") + service
}

// BranchID is what a cookie says of a Service.
func BranchID(service string) string { return shortHash(service) }

func (r *CanaryRule) record() string {
	return string(r.Source) + string(r.Compare) + strconv.Itoa(r.To) + ":" + hex.EncodeToString([]byte(r.Name)) + ":" + hex.EncodeToString([]byte(r.Value))
}

// canary writes the field of a record that templates/canary.lua reads:
//
//	BACKEND*WEIGHT*ID+…;TOTAL;COOKIE:SECURE:MAXAGE;RULE+…
//
// where a rule is three characters and two texts in hexadecimal: "he1:582d43:76".
// Names of backends have none of the characters between.
func canary(p *Policy) string {
	c := p.Canary
	if c == nil {
		return ""
	}
	branches, rules := make([]string, len(c.Branches)), make([]string, len(c.Rules))
	for i, b := range c.Branches {
		branches[i] = b.Backend + "*" + strconv.Itoa(b.Weight) + "*" + b.ID
	}
	for i, r := range c.Rules {
		rules[i] = r.record()
	}
	cookie := ""
	if k := c.Cookie; k != nil {
		cookie = k.Name + ":" + flag(k.Secure, "s") + ":" + number(k.MaxAge)
	}
	return strings.Join(branches, "+") + ";" + strconv.Itoa(c.Total) + ";" + cookie + ";" + strings.Join(rules, "+")
}
