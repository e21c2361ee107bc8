// Package filesource gives a router the objects of manifests in files, as package kube
// gives it those of a cluster: `fairlead serve` is made of it.
//
//	files ─ list ─▶ file (parsed, cached) ─ merge ─▶ objects ─ explain.View ─▶ Source
//
// A file that cannot be read keeps the last good version of its objects. Nothing here
// speaks to HAProxy or to a cluster.
package filesource
