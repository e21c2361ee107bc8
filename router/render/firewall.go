package render

import (
	"fmt"
	"path/filepath"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// firewall are the lines by which frontends ask the firewall (router/firewall), by a
// filter of its own: its time for an answer is not that of the policy agent. Nothing of
// a tenant stands in them. Before its rules end,
//
//	txn.firewall     is what the record asks for (model.Firewall), only if it asks
//	txn.waf_blocks   is set if only requests with the verdict "allow" may go on
//
// Without txn.waf_blocks all go on, and those that were not judged are counted.
type firewall struct{ socketDir, configFile string }

// firewallOf returns the lines of a router with a firewall, or nil.
func firewallOf(s Settings, l Layout, caps plan.Capabilities) *firewall {
	if s.FirewallDir == "" || !caps.HeaderLists {
		return nil
	}
	return &firewall{s.FirewallDir, filepath.Join(l.Dir, "firewall.cfg")}
}

const (
	// firewallTime is how long a verdict may take. The firewall itself refuses what it does
	// not begin with within a second.
	firewallTime = "3s"
	// firewallBodyTime is how long a client may take for the part of a body that is judged.
	firewallBodyTime = "10s"
	// firewallBody is the longest such part, and one byte more shows that there is more.
	firewallBody = 16384
)

func (f *firewall) filter() string { return "filter spoe engine firewall config " + f.configFile }

// firewallRules judge requests as pods get them but for rewrites, after all else that may
// refuse them.
func firewallRules(f *firewall, l Layout, caps plan.Capabilities) []string {
	const (
		judged = "{ var(txn.firewall) -m found }"
		blocks = "{ var(txn.waf_blocks) -m found }"
		// A request that becomes a tunnel has no body.
		tunnel    = "{ var(txn.waf_tunnel) -m found }"
		allow     = "{ var(txn.waf.verdict) -m str allow }"
		blocked   = "{ var(txn.waf.verdict) -m str block }"
		refuses   = "{ var(txn.firewall),field(2,:) -m str r }"
		tooMuch   = "{ var(txn.waf_over) -m found }"
		unanswers = `return status 503 content-type text/plain string "Service Unavailable\n" hdr Retry-After 1 if `
	)
	var r rules
	r.add("set-var(txn.waf_blocks) bool(true) if %s", asks(model.FlagFirewallBlocks))
	if f == nil {
		// The router closes such Routes. This is what holds if it did not.
		r.add(unanswers + blocks)
		return r
	}
	r.add("set-var(txn.firewall,ifnotempty) %s if %s", rest(model.FieldFirewall), asks(model.FlagFirewall))
	r.add(unanswers + blocks + " !" + judged)
	r.add("set-var(txn.waf_body) var(txn.firewall),field(1,:) if %s", judged)
	r.add("set-var(txn.waf_tunnel) bool(true) if %s { req.fhdr(upgrade) -m found } !{ req.fhdr(content-length) -m found } !{ req.fhdr(transfer-encoding) -m found } { req.body_len eq 0 }", judged)
	r.add("wait-for-body time %s at-least %d if %s !%s", firewallBodyTime, firewallBody+1, blocks, tunnel)
	if caps.Lua {
		r.add("lua.fairlead_firewall_body if %s !%s", judged, blocks)
	}
	r.add("set-var(txn.waf_over) bool(true) if %s !%s !{ internal.htx.has_eom } || %s { req.body_len,sub(txn.waf_body) gt 0 }", judged, tunnel, judged)
	r.add("%s if %s %s %s", ownAnswer(l, caps, 413, "The body is too large to be judged."), blocks, refuses, tooMuch)
	r.add("send-spoe-group firewall judge if %s", judged)
	r.add("%s if %s %s", ownAnswer(l, caps, 403, "Forbidden"), blocks, blocked)
	r.add(unanswers + blocks + " !" + allow)
	if caps.Lua {
		r.add("lua.fairlead_unjudged if %s !%s !{ var(txn.waf.verdict) -m found }", judged, blocks)
	}
	return r
}

// sections are the backend of the firewall.
func (f *firewall) sections() []string {
	return []string{
		"backend router_firewall from " + frontDefaults,
		"  mode spop",
		"  timeout connect 100ms",
		"  timeout check 1s",
		"  timeout server " + firewallTime,
		"  option spop-check",
		fmt.Sprintf("  server firewall unix@%s/%s check inter 200ms fall 2 rise 1", f.socketDir, model.FirewallSocket),
	}
}

// config is the text of the file that filter names.
func (f *firewall) config() []string {
	return []string{
		"[firewall]",
		"spoe-agent firewall",
		"  groups judge",
		"  option var-prefix waf",
		"  option set-on-error err",
		"  register-var-names verdict rules",
		"  timeout processing " + firewallTime,
		"  use-backend router_firewall",
		"spoe-group judge",
		"  messages judge",
		"spoe-message judge",
		"  args c=var(txn.firewall) route=var(txn.backend) method=method path=pathq version=req.ver src=src over=var(txn.waf_over) hdrs=req.hdrs_bin body=req.body,bytes(0,txn.waf_body)",
	}
}
