// Package share counts requests over all replicas of a router, so that together they
// never admit more than a limit, whatever fails. It is pure: the time is a value, and
// messages go out by a function.
//
// Each key of a limit has one owner among the members, chosen by a hash. The owner has
// the key's bucket, and leases tokens of it to the others:
//
//	member ── Want: 3 tokens ──▶ owner
//	member ◀── Give: 3 tokens ── owner      for Lease, from the moment of the question
//	member ── Return: 1 token ─▶ owner      when the lease is about to end
//
// # Why it is never more than the limit
//
// Take the tokens of the bucket and those leased and not used together. The sum never
// exceeds the burst, grows at the rate of the limit, and falls by one with each request
// that is admitted. So any time t has at most burst + rate*t requests. An owner does not
// know when a leased token is used, so it takes it for unused until the lease has ended,
// and for used from then on. A lost message costs tokens, and never makes one.
//
// It holds as long as a key has one owner. A member acts as owner only while each member
// of its view, itself included, consents. Consent lasts for Term, and a member consents
// only to members with the same view, and not before its consent to those with another
// view has ended. Two views of which one member is in both thus never act together. A
// process that has just started does not know what the one before it consented to, so it
// waits for Term. A member that consents counts the time a little longer than the one that relies on
// it (slack), because clocks differ in speed.
//
// An owner that begins has empty buckets, which then fill at the rate: what was there
// may have been used. Buckets are kept only where it is certain that nothing else
// admitted requests in between, which is so for keys whose owner a planned change of
// members does not change.
//
// If an owner does not act for Patience, a member withdraws its consent. When that has
// ended, the owner cannot act, and the member uses a part of its own: the limit divided
// by the number of members of the last view that it acted with. It consents again when
// the owner hears from all members. All parts together are at most the limit.
//
// # What it relies on
//
// A member that lives is in the view of each other member, or is about to be within
// Settling; one that is gone from them is dead, or
// knows that it is out. A process ends before Term has passed
// since another one took its ID. Clocks differ by less than a sixteenth in
// speed. Members are honest: a member that is not can admit what it wants, itself.
package share
