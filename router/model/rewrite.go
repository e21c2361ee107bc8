package model

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Rewrite cuts the first Strip bytes of the path and puts To before the rest,
// or Empty in its place where nothing is left. If Regex is there, only that counts.
type Rewrite struct {
	Strip     int
	To, Empty string
	Regex     *PathRegex
}

// BranchRewrite is what pods of one backend of a claim get in place of what the client sent. Its
// fields are independent: what is empty or nil is as the claim's policy says.
type BranchRewrite struct {
	// Host is a DNS name.
	Host string
	// Path has no Regex. It is for the path that the claim was found by.
	Path *Rewrite
}

// Bytes is how long the texts are that HAProxy holds for a branch.
func (b BranchRewrite) Bytes() int {
	n := len(b.Host)
	if b.Path != nil {
		n += len(b.Path.To) + len(b.Path.Empty)
	}
	return n
}

// Record is what templates/rewrite.lua reads: host, bytes to cut, what comes before the rest, and
// what comes in place of nothing. No field holds a "|": doors see to it.
func (b BranchRewrite) Record() string {
	fields := []string{b.Host, "", "", ""}
	if p := b.Path; p != nil {
		fields = []string{b.Host, strconv.Itoa(p.Strip), p.To, p.Empty}
	}
	return strings.Join(fields, separator)
}

// branchPaths reports whether a branch replaces paths.
func (p *Policy) branchPaths() bool {
	for _, b := range p.BranchRewrites {
		if b.Path != nil {
			return true
		}
	}
	return false
}

// PathRegex replaces the paths that a pattern matches. The pattern is written as
// regex.Pattern.Text, and Longest is the longest path that it is applied to.
type PathRegex struct {
	Pattern, Replacement string
	Longest              int
	// Unused patterns are one too many.
	Unused bool
}

// record writes the field of a record that templates/rewrite.lua reads. Both texts are in
// hexadecimal, because they may have characters that separate fields.
func (r *PathRegex) record() string {
	return strconv.Itoa(r.Longest) + ":" + hex.EncodeToString([]byte(r.Pattern)) + ":" + hex.EncodeToString([]byte(r.Replacement))
}

// patterned reports whether a pattern replaces paths.
func (p *Policy) patterned() bool { return p.Rewrite.Applied() != nil }

// Applied returns the pattern that replaces paths, or nil.
func (r *Rewrite) Applied() *PathRegex {
	if r == nil || r.Regex == nil || r.Regex.Unused {
		return nil
	}
	return r.Regex
}
