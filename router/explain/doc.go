// Package explain answers what becomes of a request, and why, from the same
// decisions that the router takes.
//
// It is pure: objects in, values out. The command kubectl-fairlead reads the
// objects from a cluster or from manifests and shows the values.
//
//	Objects ─ NewSnapshot ─▶ pipeline.Pipeline ─▶ wanted state ─▶ Explain, Why, Lint, Render
//
// An answer says only what follows from the objects. Where an object could not be read
// or a manifest is missing, the answer has a note, and what depends on it is
// "not known" and never "wrong".
package explain
