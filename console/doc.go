// Package console shows what a router serves, and why, in a browser on the same machine.
// It only reads: each remedy is a command to copy.
//
//	Source ─ Read ─▶ World ─▶ page (HTML by html/template, complete without script)
//	                    ▲
//	request ─▶ guard ───┘  own Host, own Origin, secret path, cookie of a login that works once
//
// Pages are made of the answers of package explain, which are those of `kubectl fairlead`.
// Every text in them may come from a tenant: it is shown as text, shortened, and there is
// nowhere that a script could come from but the one that is part of this package.
package console
