// Package suite is the conformance suite of the Gateway API, with the versions of its
// modules pinned in a module of its own, so that what only it needs stays out of the
// product. The command one folder above builds and runs it.
package suite
