// Package templates holds the fixed text of the HAProxy configuration and the
// pages that the router answers with. The templates have no logic beyond range
// and if-present: package render computes every value.
package templates

import _ "embed"

// Skeleton is the HAProxy configuration without routes: global settings, one
// defaults section per profile, the frontends and the fixed backends.
//
//go:embed haproxy.cfg.tmpl
var Skeleton string

// Unavailable is the answer when a route has no server that could take the
// request: a complete HTTP response, as HAProxy's errorfile wants it.
//
//go:embed 503.http
var Unavailable []byte

// RequestsLua is what the other files of Lua share. It comes first.
//
//go:embed requests.lua
var RequestsLua []byte

// ConditionsLua decides between claims with conditions. It comes after RequestsLua.
//
//go:embed conditions.lua
var ConditionsLua []byte

// AnswersLua changes cookies and redirects of pods. It comes before HeadersLua.
//
//go:embed answers.lua
var AnswersLua []byte

// HeadersLua changes headers as a route's httpHeaders.actions say.
//
//go:embed headers.lua
var HeadersLua []byte

// LimitsLua finds what limits of requests count by.
//
//go:embed limits.lua
var LimitsLua []byte

// RefusalsLua counts what policies refuse.
//
//go:embed refusals.lua
var RefusalsLua []byte

// APIKeysLua finds API keys, and keeps them from pods.
//
//go:embed apikeys.lua
var APIKeysLua []byte

// CertificatesLua reads alternative names in certificates of clients.
//
//go:embed certificates.lua
var CertificatesLua []byte

// CanaryLua chooses the backends of requests of routes with a canary.
//
//go:embed canary.lua
var CanaryLua []byte

// FaultLua delays and ends requests where a policy asks for it. It comes after CanaryLua.
//
//go:embed fault.lua
var FaultLua []byte

// MirrorLua hands copies of requests to the policy agent.
//
//go:embed mirror.lua
var MirrorLua []byte

// HashLua finds the value by which a request is led to a pod.
//
//go:embed hash.lua
var HashLua []byte

// RewriteLua replaces paths by a pattern with captures.
//
//go:embed rewrite.lua
var RewriteLua []byte

// RedirectLua finds the redirect of a request where expressions are among them. It comes after
// RewriteLua.
//
//go:embed redirect.lua
var RedirectLua []byte

// JournalLua takes what the former process had taken since its maps were written.
//
//go:embed journal.lua
var JournalLua []byte

// PagesLua puts a page in the place of a pod's answer.
//
//go:embed pages.lua
var PagesLua []byte

// Maintenance is the body of the answer of a route that is under maintenance.
//
//go:embed maintenance.html
var Maintenance []byte

// NotFound is the body of the answer when no route matches.
//
//go:embed 404.html
var NotFound []byte

// FirewallLua waits for bodies, and counts requests that were not judged. It comes after
// RefusalsLua.
//
//go:embed firewall.lua
var FirewallLua []byte
