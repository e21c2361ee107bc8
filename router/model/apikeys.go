package model

import (
	"encoding/hex"
	"strings"
)

// APIKeys are the keys of which a request shows one.
type APIKeys struct {
	// From are the places where a key may be; none is the header X-API-Key.
	From []KeySource
	// Demanded refuses requests without a key; else the policy agent decides.
	Demanded bool
	// Strips keeps the key from the pod.
	Strips bool
	// Header gets the name of the consumer for the pod; empty for none.
	Header string
	// Consumers are the names by the hash of the key, as HAProxy computes it.
	Consumers map[string]string
}

// KeySource is a place where a key may be: a header, or a parameter of the URL.
type KeySource struct {
	Query bool
	Name  string
}

// record is what templates/apikeys.lua reads: names in hexadecimal, because they may have
// characters that separate fields.
func (k *APIKeys) record() string {
	places := make([]string, len(k.From))
	for i, s := range k.From {
		places[i] = "h"
		if s.Query {
			places[i] = "q"
		}
		places[i] += hex.EncodeToString([]byte(s.Name))
	}
	return strings.Join(places, limitSeparator)
}
