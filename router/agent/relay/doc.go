// Package relay carries datagrams of UDP between clients and pods, which HAProxy cannot.
//
//	client ──▶ port of the router's pod ──▶ session ──▶ pod
//	client ◀──  the address it asked    ◀──         ◀── pod
//
// A session begins with the first datagram of a client's address and port, for which a pod
// is chosen by weight. It has a socket that is connected to the pod, so nothing else can
// answer in the pod's place. It ends when neither side has sent anything for Idle.
//
// For each datagram that comes in at most one goes out, and the relay sends none of its own:
// it cannot be used to multiply what a client sends.
//
// Addresses of clients can be forged, so sessions are bounded: in all, for each namespace
// and for each source. A session in which the client has sent again after the pod's answer
// is never ended for another one. One without that can be replaced by a newer session of
// the same namespace or source, once it has been silent for Grace.
//
// One goroutine has all sockets, so the relay takes one processor at most, and nothing of
// it needs a lock. Of the workers of a pod one relays, by a lock of a file; another one
// takes over when it ends, with sessions that begin again.
package relay
