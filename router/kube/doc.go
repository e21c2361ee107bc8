// Package kube is the router's way to the API server: it watches the objects
// that routes are made of, and writes what the router decided back to the
// routes' status.
//
// It decides nothing. What it watches is kept as the API server reported it;
// events only mark keys as dirty, and the reader of the keys looks at the
// newest state. If the API server goes away, the last state stays readable and
// the watches resume when it returns.
//
//	API server ─ watch ─▶ Watcher ─ Wake, Take, door.Source ─▶ pipeline
//	     ▲                   │ newest Route                          │
//	     └──── update ── StatusWriter ◀── Publish, Forget ───────────┘
package kube
