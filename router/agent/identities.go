package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// identity is what a method found out about the client, for rules and limits.
type identity struct {
	consumer string
	claims   jwt.Claims
}

// identityBytes is what HAProxy counts by for one limit: two numbers of 32 bits.
const identityBytes = 8

// identities says what a client is counted by, for each of some identities. It is the same
// from each worker and replica, and says nothing about the client. The first number is
// never 0 where there is an identity.
func identities(list []snapshot.Identity, consumer string, claims jwt.Claims) string {
	if len(list) == 0 {
		return ""
	}
	out := make([]byte, 0, len(list)*identityBytes)
	for _, one := range list {
		var values []string
		if one.Claim != "" {
			values, _ = claims.Values(one.Claim)
		} else if consumer != "" {
			values = []string{consumer}
		}
		out = append(out, identity64(values)...)
	}
	return hex.EncodeToString(out)
}

// identity64 hashes values, each with its length, so that no value can end in the next one.
func identity64(values []string) []byte {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return make([]byte, identityBytes)
	}
	h := sha256.New()
	for _, v := range values {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(v))))
		h.Write([]byte(v))
	}
	sum := h.Sum(nil)[:identityBytes]
	sum[0] |= 1
	return sum
}
