package model

import (
	"strconv"
	"strings"
	"time"
)

// CORS says which pages of other origins may read answers.
type CORS struct {
	// Origins are admitted: one as browsers write it, "https://*.example.com" for
	// all with one more label, or "*" for all.
	Origins []string
	// Methods, Headers and Expose are the values of headers.
	Methods, Headers, Expose string
	Credentials              bool
	// MaxAge is how long the answer to a preflight holds.
	MaxAge time.Duration
	// Forward lets pods answer preflights.
	Forward bool
}

// AnyOrigin admits all origins.
const AnyOrigin = "*"

// OriginRecord is what rules read for an admitted origin: how it is named in answers,
// credentials, methods, headers, names to expose, and seconds.
func (c *CORS) OriginRecord(origin string) string {
	named := "e"
	if origin == AnyOrigin {
		named = AnyOrigin
	}
	fields := []string{named, flag(c.Credentials, "c"), c.Methods, c.Headers, c.Expose, strconv.Itoa(int(c.MaxAge / time.Second))}
	return strings.Join(fields, separator)
}
