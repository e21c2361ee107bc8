// Package agent decides about requests what HAProxy cannot decide alone: passwords,
// tokens, and what another server says.
//
//	HAProxy ──SPOP──▶ Server ──▶ Engine.Decide ──▶ methods of the policy ──▶ Answer
//	                                  │   basic: hash pool      jwt: keys of issuers
//	                                  │   external: HTTP client with checked addresses
//	             snapshot ──Swap──────┘   cache: answers by policy and credentials
//
// A request goes on only if the answer says "allow". Everything else that can happen
// here is a refusal: an unknown policy, a policy that cannot be used, a slow server,
// too much work, a panic. HAProxy's own rules refuse whatever has no answer.
//
// Each thing that a tenant can consume has a bound, and a share for each namespace.
package agent
