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
		out = append(out, identity64(identityValues(one.Claim, consumer, claims))...)
	}
	return hex.EncodeToString(out)
}

// identityValues are those of a claim, or the consumer where it has no name.
func identityValues(claim, consumer string, claims jwt.Claims) (values []string) {
	if claim != "" {
		values, _ = claims.Values(claim)
	} else if consumer != "" {
		values = []string{consumer}
	}
	return values
}

// identityOf is what a client is counted by over all replicas, or nothing where that is not
// known.
func identityOf(claim, consumer string, claims jwt.Claims) string {
	values := identityValues(claim, consumer, claims)
	if unknownIdentity(values) {
		return ""
	}
	sum := sha256.Sum256(identityText(values))
	return string(sum[:])
}

func unknownIdentity(values []string) bool {
	return len(values) == 0 || len(values) == 1 && values[0] == ""
}

// identityText has values, each with its length, so that no value can end in the next one.
func identityText(values []string) (text []byte) {
	for _, v := range values {
		text = append(binary.BigEndian.AppendUint64(text, uint64(len(v))), v...)
	}
	return text
}

// identity64 hashes values.
func identity64(values []string) []byte {
	if unknownIdentity(values) {
		return make([]byte, identityBytes)
	}
	sum := sha256.Sum256(identityText(values))
	sum[0] |= 1
	return sum[:identityBytes]
}
