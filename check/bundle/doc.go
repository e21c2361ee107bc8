// Package bundle makes an archive for a bug report out of what package collect has read
// from a cluster. It leaves out keys and passwords (Redact), replaces hosts and namespaces
// if that is asked for (Names), and keeps the names of objects from leaving the archive's
// folder (Path).
//
// What is not known to be harmless is left out: annotations of other programs, values of
// headers and of environment variables. A bug report may be read by strangers.
package bundle
