// Package operator turns IngressController objects into running routers.
//
// The main line is Reconciler.reconcile in controller.go:
//
//	observe ─► effective settings, admission ─► apply: the children ─► report: the status
//
// Each child has a package. Its Desired function says what the child must be, its
// Changed function says what has to be written so that the live child becomes
// that. Both are pure; the file ensure.go, where there is one, reads and writes.
// Package apply does that for all others, and children.go lists them in order.
//
// What the routers do with traffic is not decided here: they read their own
// IngressController, so most of its fields apply without a rollout.
package operator
