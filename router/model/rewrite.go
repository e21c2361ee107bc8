package model

import (
	"encoding/hex"
	"strconv"
)

// Rewrite cuts the first Strip bytes of the path and puts To before the rest,
// or Empty in its place where nothing is left. If Regex is there, only that counts.
type Rewrite struct {
	Strip     int
	To, Empty string
	Regex     *PathRegex
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
