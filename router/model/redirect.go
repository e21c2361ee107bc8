package model

import (
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
}

// Target returns the path that a request is redirected to.
func (r *Redirect) Target(path string) string {
	if r.Whole {
		return r.To
	}
	return r.To + path[min(r.Strip, len(path)):]
}

// Record returns the redirect as rules read it: status, scheme with host, port,
// length to strip, what to put there, and whether the query stays. Only addresses on
// the same host that replace the whole path have no host: what is left of a client's
// path could begin with "//", which names one.
func (r *Redirect) Record() string {
	base, port, strip, query := "", "", "", ""
	if r.Scheme != "" {
		base = r.Scheme + "://"
	} else if r.Host != "" || r.Port != 0 || !r.Whole {
		base = "//"
	}
	if r.Port != 0 {
		port = ":" + strconv.Itoa(r.Port)
	}
	if !r.Whole {
		strip = strconv.Itoa(r.Strip)
	}
	if r.Query {
		query = "k"
	}
	fields := []string{strconv.Itoa(r.Status), base + r.Host, port, strip, strings.ReplaceAll(r.To, separator, "%7C"), query}
	return strings.Join(fields, separator)
}
