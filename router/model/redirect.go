package model

import (
	"slices"
	"strconv"
	"strings"
)

// Redirect answers the requests for a path with another address.
type Redirect struct {
	// Path and Exact are as in Match: "" is every path. Of several redirects that
	// match, the longest path counts.
	Path  string
	Exact bool
	// Status is 301, 302, 303, 307 or 308.
	Status int
	// Scheme, Host and Port are those of the address. The request's own stand in
	// place of those that are empty or zero; its port only if all are.
	Scheme, Host string
	Port         int
	// To replaces the first Strip bytes of the path, or all of it if Whole is true.
	Strip int
	To    string
	Whole bool
	// Query says that the query of the request is kept.
	Query bool
	// Regex matches in place of Path, which then is what was written. Its replacement, if
	// there is one, makes the path. Of a policy's redirects among which there is one of these,
	// the first that matches counts.
	Regex *PathRegex
	// Beginning is what all paths begin with that Regex matches.
	Beginning string
}

// Target returns the path that a request is redirected to, if no replacement makes it.
func (r *Redirect) Target(path string) string {
	if r.Whole {
		return r.To
	}
	return r.To + path[min(r.Strip, len(path)):]
}

// Patterned reports whether an expression is one of some redirects, applied or not.
func Patterned(all []Redirect) bool {
	return slices.ContainsFunc(all, func(r Redirect) bool { return r.Regex != nil })
}

// Unpatterned returns redirects of which those by expressions are not applied. The others may
// be shared with other routes.
func Unpatterned(all []Redirect) []Redirect {
	all = slices.Clone(all)
	for i := range all {
		if r := &all[i]; r.Regex != nil {
			regex := *r.Regex
			regex.Unused = true
			r.Regex = &regex
		}
	}
	return all
}

// Replaced reports whether a replacement makes the path.
func (r *Redirect) Replaced() bool { return r.Regex != nil && r.Regex.Replacement != "" }

// Record returns the redirect as rules read it: status, scheme with host, port,
// length to strip, what to put there, and whether the query stays. Only addresses on
// the same host that replace the whole path have no host: what is left of a client's
// path could begin with "//", which names one. So what an expression captures is never a
// host.
func (r *Redirect) Record() string {
	base, port, strip, query := "", "", "", ""
	to := r.To
	if r.Scheme != "" {
		base = r.Scheme + "://"
	} else if r.Host != "" || r.Port != 0 || !r.Whole {
		base = "//"
	}
	if r.Port != 0 {
		port = ":" + strconv.Itoa(r.Port)
	}
	if r.Replaced() {
		to = r.Regex.Replacement
	} else if !r.Whole {
		strip = strconv.Itoa(r.Strip)
	}
	if r.Query {
		query = "k"
	}
	fields := []string{strconv.Itoa(r.Status), base + r.Host, port, strip, strings.ReplaceAll(to, separator, "%7C"), query}
	return strings.Join(fields, separator)
}
