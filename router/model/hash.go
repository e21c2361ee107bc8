package model

import "encoding/hex"

// HashSource is a value of a request that leads to a server.
type HashSource string

// The sources, by the letters that stand for them in a record.
const (
	HashHeader HashSource = "h"
	HashCookie HashSource = "c"
	HashQuery  HashSource = "q"
	HashPath   HashSource = "p"
	HashURI    HashSource = "u"
	HashHost   HashSource = "o"
)

// HashKey is what KeyHash shares requests out by.
type HashKey struct {
	Source HashSource
	// Name is that of a header, cookie or parameter.
	Name string
}

// hashKey writes the field of a record that templates/hash.lua reads: the letter of the
// source, and the name in hexadecimal.
func hashKey(p *Policy) string {
	if p.Hash == nil {
		return ""
	}
	return string(p.Hash.Source) + hex.EncodeToString([]byte(p.Hash.Name))
}
