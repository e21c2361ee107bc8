package model

import (
	"fmt"
	"slices"
	"strings"
)

// RequestMatch says which requests of a route a limit counts and refuses: all of them if it is
// empty.
type RequestMatch struct {
	Methods []string      `json:"methods,omitempty"`
	Paths   []RequestPath `json:"paths,omitempty"`
}

// RequestPath is a path as programs read it, and all below it unless it is exact.
type RequestPath struct {
	Value string `json:"value"`
	Exact bool   `json:"exact,omitempty"`
}

// Any reports whether it has every request.
func (m *RequestMatch) Any() bool { return m == nil || len(m.Methods)+len(m.Paths) == 0 }

// Same reports whether two have the same requests, as far as their text says.
func (m *RequestMatch) Same(o *RequestMatch) bool {
	return slices.Equal(m.Methods, o.Methods) && slices.Equal(m.Paths, o.Paths)
}

// Has reports whether a request is among these. The path is as match.Normal has it. One that
// programs read in different ways is not plain: it may be any path, so it counts.
func (m *RequestMatch) Has(method, path string, plain bool) bool {
	if m.Any() {
		return true
	}
	return (len(m.Methods) == 0 || slices.Contains(m.Methods, method)) &&
		(len(m.Paths) == 0 || !plain || slices.ContainsFunc(m.Paths, func(p RequestPath) bool { return p.has(path) }))
}

func (p RequestPath) has(path string) bool {
	if p.Exact {
		return path == p.Value
	}
	rest, below := strings.CutPrefix(path, strings.TrimRight(p.Value, "/"))
	return below && (rest == "" || rest[0] == '/')
}

// String completes "20/s burst 40 by address".
func (m *RequestMatch) String() string {
	var parts []string
	parts = append(parts, m.Methods...)
	for _, p := range m.Paths {
		text := p.Value
		if !p.Exact {
			text = strings.TrimRight(text, "/") + "/…"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return ", for " + strings.Join(parts, " ")
}

// MaxMatchBytes bounds what the match of a limit takes of a record, because HAProxy reads a
// record with each request.
const MaxMatchBytes = 512

// requestMatch begins a match in a record.
const requestMatch = otherKey + "m"

// Record is what templates/limits.lua reads: methods, and paths after e or p. Those are encoded,
// so that nothing in them separates fields.
func (m *RequestMatch) Record() string {
	if m.Any() {
		return ""
	}
	items := slices.Clone(m.Methods)
	for _, p := range m.Paths {
		kind := "p"
		if p.Exact {
			kind = "e"
		}
		items = append(items, kind+encodedPath(p.Value))
	}
	return requestMatch + strings.Join(items, ",")
}

// field is the match at the end of a limit's record.
func (m *RequestMatch) field() string {
	if m.Any() {
		return ""
	}
	return rateSeparator + m.Record()
}

func encodedPath(path string) string {
	const kept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
	var b strings.Builder
	for i := range len(path) {
		if strings.IndexByte(kept, path[i]) >= 0 {
			b.WriteByte(path[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", path[i])
		}
	}
	return b.String()
}
