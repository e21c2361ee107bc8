// Package check answers "is my ingress healthy?" for `kubectl fairlead status`. It
// judges one Snapshot of a cluster's objects by rules with stable ids; it reads
// nothing itself, package collect does.
//
//	objects, answers of speakers, probes ─▶ Snapshot ─▶ rules ─▶ Report
//
// What could not be read is never judged: a rule says which sources it needs, and
// without one of them its state is unknown, neither good nor bad.
//
// The rules are in groups, by the first digit of their number: 0 installation,
// 1 certificates, 2 routers and Routes, 3 addresses, 4 DNS, 5 Ingresses and their classes,
// 6 reachability, 7 capacity. Each has a page in docs/checks.
package check
