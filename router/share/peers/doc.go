// Package peers connects the members of router/share: a protocol of small frames over
// TLS, in which each side proves by a certificate of the operator that it is a router of
// the same IngressController.
//
// Each member connects to each other one, asks on that connection, and is answered on it.
// A message that cannot be sent at once is lost, which the members are made for. What a
// peer may do to another is bounded: the size of frames, the connections, and what waits
// to be written.
package peers
