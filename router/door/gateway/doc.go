// Package gateway has the front doors of the Gateway API. A Gateway brings listeners, each
// of which is a scope; an HTTPRoute brings claims into the scopes of the listeners that it
// is attached to. Both say what stands in the status of the objects. It is pure.
//
// The hostname of a claim is the one that the route has, not what it has in common with
// the listener's: requests come into a scope only by the listener, so they have both. The
// route's alone decides which claim comes first, as the API wants it.
package gateway
