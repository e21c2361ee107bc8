// Package spop speaks HAProxy's Stream Processing Offload Protocol, version 2.0,
// from the agent's side: HELLO, NOTIFY, ACK and DISCONNECT.
//
//	HAProxy                         agent
//	  HAPROXY-HELLO       ────────▶          versions, largest frame
//	           ◀────────  AGENT-HELLO
//	  NOTIFY (stream 7)   ────────▶          a question with typed arguments
//	  NOTIFY (stream 8)   ────────▶
//	           ◀────────  ACK (stream 8)     variables to set; any order
//	           ◀────────  ACK (stream 7)
//
// HAProxy has had neither fragments nor "async" since 3.1, so the package refuses
// both. A frame is read into one buffer that is used again, values point into
// that buffer, and an answer is written with one call: HAProxy resets a connection
// whose AGENT-HELLO arrives in pieces, and the hot path allocates nothing.
//
// Whatever a peer sends is bounded before it is read: the length of a frame, and
// the number and length of names and values. A frame that breaks a rule ends the
// connection; a handler that panics ends only its own answer, which then sets no
// variable. HAProxy's rules refuse a request without a verdict, so every failure
// here leaves a door closed.
package spop
