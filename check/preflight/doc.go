// Package preflight decides whether Fairlead may be installed or upgraded in a cluster,
// from facts that package collect has read: versions, kinds and their owners, ports,
// other providers and controllers, rights, Pod Security and admission. It is a pure
// function: Judge.
//
// Decide is the rule about kinds that another program may own.
package preflight
