package render

import (
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// A port of a Gateway may ask clients for certificates. HAProxy verifies them in the
// handshake, as the lines of the port's list say. What a handshake asked for is fixed with the
// connection, so a mark of it is taken before the handshake begins (askedRules), and each
// request compares it with the mark of now (slotClientRules): a Gateway whose authorities are
// replaced is obeyed by the connections that are open, too. Lines change before marks
// (plan.slotLines), so a new mark means a new line.
//
// A session is resumed only under the line where it began (plan.Capabilities.BoundSessions);
// other versions of HAProxy resume none at these ports.

// fallbackBind lets in clients whatever is wrong with their certificates, where a line asks
// for any. HAProxy has it for whole ports only.
const fallbackBind = " crt-ignore-err all ca-ignore-err all"

// unresumed keeps clients from resuming sessions where HAProxy would not notice that another
// line holds now.
func unresumed(caps plan.Capabilities) string {
	if caps.BoundSessions {
		return ""
	}
	return " no-tls-tickets"
}

func unresumedRules(caps plan.Capabilities) []string {
	if caps.BoundSessions {
		return nil
	}
	return []string{"tcp-request session reject if { ssl_fc_is_resumed }"}
}

// askedRules note what the handshake is going to ask the client for.
func askedRules(of Slots, l Layout) []string {
	return []string{
		"tcp-request connection set-var(sess.port) " + slotFetch(of),
		"tcp-request connection set-var(sess.asked) var(sess.port),concat(!),map_str(" + l.MapFile(plan.MapListeners) + ")",
	}
}

// slotClientRules refuse requests over connections that were asked for something else, or
// whose client has not shown what it must, and say to pods what it has shown. That the
// handshake let the client in is checked once more.
func slotClientRules(l Layout) []string {
	const asks, must = "{ var(txn.asks) -m found }", "{ var(txn.asks) -m beg " + model.ClientMarkPrefix + " }"
	var r rules
	r.add("set-var(txn.asks) var(sess.slot),concat(!),map_str(%s)", l.MapFile(plan.MapListeners))
	r.add("return status 421 content-type text/plain string 'Ask for this host over a connection of its own.' if %s !{ var(txn.asks),strcmp(sess.asked) eq 0 }", asks)
	r.add("deny deny_status 403 if %[1]s !{ ssl_c_used } || %[1]s !{ ssl_c_verify 0 }", must)
	r.add("del-header '^(x[-_]ssl([-_]|$)|ssl[-_]client[-_])' -m reg if %s", asks)
	for _, h := range certificateHeaders {
		r.add("set-header %s %s if %s", h.name, h.value, asks)
	}
	// What ingress-nginx calls them.
	r.add("set-header ssl-client-verify %%[ssl_c_used,iif(SUCCESS,NONE)] if %s", asks)
	r.add("set-header ssl-client-verify FAILED if %s !{ ssl_c_verify 0 }", asks)
	r.add("set-header ssl-client-subject-dn %%[ssl_c_s_dn(,0,rfc2253)] if %s", asks)
	r.add("set-header ssl-client-issuer-dn %%[ssl_c_i_dn(,0,rfc2253)] if %s", asks)
	return r
}
