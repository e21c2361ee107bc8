package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// asked is true for backends whose policy record asks for more than a sticky
// cookie: model.Policy.Record. Most requests go by after this one look.
const asked = "{ var(txn.policy) -m beg " + modes + " }"

// askedOrTraced is true for those, too, whose record asks for nothing but tracing.
const askedOrTraced = "{ var(txn.policy) -m beg " + modes + " " + model.FlagTraced + " }"

const modes = model.ModeAppend + " " + model.ModeReplace + " " + model.ModeIfNone + " " + model.ModeNever

// record reads a field of the policy record.
func record(f model.Field) string { return fmt.Sprintf("var(txn.policy),field(%d,|)", f) }

// asks is true for backends whose policy record has one of some letters.
func asks(letters ...string) string {
	return "{ " + record(model.FieldMode) + " -m sub " + strings.Join(letters, " ") + " }"
}

// mode is true for backends whose policy record begins with a letter.
func mode(letter string) string { return "{ var(txn.policy) -m beg " + letter + " }" }

// restBegins is the first field of txn.policy_rest, which holds what follows the
// cookie: counting from there is shorter.
const restBegins = model.FieldRequests

func rest(f model.Field) string {
	return fmt.Sprintf("var(txn.policy_rest),field(%d,|)", f-restBegins+1)
}

// policyRules are the rules that turn a backend's policy record into what
// happens to a request. They end the rules of the frontends that route HTTP,
// after txn.backend holds the key's value (plan.Target): the backend's name and its
// record. tls is true where TLS ends. A route pays for what it uses: each part begins with one test, and variables that are not set end the rest.
// Guards are guardRules, or those of scopes. What comes before is for all of them.
func policyRules(s Settings, l Layout, caps plan.Capabilities, tls bool, before, guards []string) []string {
	rules := []string{
		"http-request set-var(txn.policy) var(txn.backend),field(2,|,0)",
		"http-request allow if !" + askedOrTraced,
	}
	rules = slices.Concat(rules, before, commonRules(s, l, caps, tls), tracingRules(s, caps), guards)
	rules = append(rules, "http-request set-var(txn.backend) var(txn.backend),field(1,|)",
		fmt.Sprintf("http-request set-var(txn.policy_rest) var(txn.policy),field(%d,|,0)", restBegins))
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }

	rules = append(rules, pageRules()...)
	refuse := clientCertificateRules(l, caps, tls)
	refuse = append(refuse, corsRules(l)...)
	refuse = slices.Concat(refuse, unloggedRules(s), []string{clientKeyRule()}, maintenanceRules(l, caps), accessRules(l))
	refuse = append(refuse, redirectRules(l, caps)...)
	refuse = append(refuse, preflightRule)
	refuse = append(refuse, limitRules(s)...)
	refuse = slices.Concat(refuse, countRules(s, l, caps), sharedRules(agentOf(s, l, caps), l, caps), sizeRules(l, caps), longPathRules(l, caps), keyRules(l, caps), askRules(agentOf(s, l, caps)), identifiedRules(s, l, caps, agentOf(s, l, caps) != nil), consumerRules(caps), firewallRules(firewallOf(s, l, caps), l, caps))
	rules = slices.Concat(rules, judgedRules(caps, refuse), faultRules(caps), bandwidthRules(s), forwardedRules(tls), requestIDRules(), keptIDRules(s))

	rules = slices.Concat(rules, branchRules(caps), rewriteRules(), patternRules(l, caps))

	// X-Forwarded-Host and Forwarded have the client's host by now.
	add("set-header Host %%[%s] if %s", rest(model.FieldPodHost), asks(model.FlagPodHost))

	rules = slices.Concat(rules, timeoutsOfAll(tls), timeoutRules(caps))
	rules = slices.Concat(rules, headerActionRules(l, caps), branchHeaderRules(l, caps, slices.Concat(trafficRules(caps), mirrorRules(agentOf(s, l, caps), caps))))
	if tls {
		rules = append(rules, clientHeaderRules(caps)...)
	}
	return together(rules)
}

// rewriteRules cut the path and put another beginning before the rest.
func rewriteRules() []string {
	var r rules
	const stripped = "{ var(txn.strip) -m found }"
	r.add("set-var(txn.strip,ifnotempty) %s", rest(model.FieldStrip))
	r.add("set-var(txn.path_rest) path,bytes(txn.strip) if %s", stripped)
	r.add(`set-path "%%[%s]%%[var(txn.path_rest)]" if { var(txn.path_rest) -m len gt 0 }`, rest(model.FieldRewrite))
	r.add(`set-path "%%[%s]" if %s !{ var(txn.path_rest) -m len gt 0 }`, rest(model.FieldRewriteEmpty), stripped)
	return r
}

// timeoutsOfAll are the timeouts that many routes have, and HSTS.
func timeoutsOfAll(tls bool) []string {
	var r rules
	r.add("set-var(txn.server_timeout,ifnotempty) %s", rest(model.FieldServerTimeout))
	r.add("set-var(txn.tunnel_timeout,ifnotempty) %s", rest(model.FieldTunnelTimeout))
	if tls {
		r.add("set-var(txn.hsts,ifnotempty) %s", rest(model.FieldHSTS))
	}
	return r
}

// guardRules look the path up once more, as pods may read it, on hosts where some
// routes protect what others do not: txn.backend_as_written is there, and holds what the path as
// written leads to. match.Table.Look does the same. What does not fit into a
// variable has no answer and is refused.
func guardRules(l Layout, caps plan.Capabilities, tls bool) []string {
	routes := plan.MapHTTP
	if tls {
		routes = plan.MapHTTPS
	}
	const host, miss = "var(txn.host),host_only,rtrim(.)", "{ var(txn.normal_backend) -m str !miss }"
	in := func(none string) string { return "map_beg(" + l.MapFile(routes) + "," + none + ")" }
	rules := append(normalRules(),
		`http-request set-var-fmt(txn.normal_key) "*%[var(txn.normal_path)]%%2F#" if `+guarded+" { var(txn.any_host_key) -m found }",
		`http-request set-var(txn.normal_backend) "`+host+`,concat(,txn.normal_path,%2F#),`+in(match.Miss)+`" if `+guarded+" !{ var(txn.any_host_key) -m found }",
		`http-request set-var-fmt(txn.normal_key) "*.%[`+host+`,field(2,.,0)]%[var(txn.normal_path)]%%2F#" if `+guarded+" "+miss,
		"http-request set-var(txn.normal_backend) var(txn.normal_key),"+in(match.Refuse)+" if { var(txn.normal_key) -m found }",
		"http-request deny deny_status 400 if "+guarded+" !{ var(txn.normal_backend) -m found }",
		"http-request set-var(txn.backend) var(txn.normal_backend) if "+guarded)
	for _, rule := range conditionRules(caps, tls) {
		rules = append(rules, rule+" "+guarded)
	}
	return append(rules, respelledRules()...)
}

// guarded is true where paths are looked up as pods may read them.
const guarded = "{ var(txn.backend_as_written) -m found }"

// normalRules refuse paths that programs read in different ways, and leave that of others
// percent-encoded as pods read it.
func normalRules() []string {
	return []string{
		"http-request set-var(txn.backend_as_written) var(txn.backend) if " + asks(model.FlagGuarded),
		"http-request deny deny_status 400 if " + guarded + " { path -i -m reg '" + match.Ambiguous + "' }",
		"http-request set-var(txn.normal_path) path,regsub(;[^/]*,,g),url_dec,url_enc if " + guarded,
	}
}

// scopedGuardRules are guardRules in the scopes of listeners, where more hosts than two may
// have the answer: templates/conditions.lua asks them, as match.Tables.normalScoped does.
func scopedGuardRules(caps plan.Capabilities) []string {
	rules := append(normalRules(), "http-request deny deny_status 400 if "+guarded+" !{ var(txn.normal_path) -m found }")
	if !caps.Lua {
		return append(rules, "http-request deny deny_status 503 if "+guarded) // there is no knowing
	}
	return slices.Concat(rules, []string{"http-request lua.fairlead_conditions http if " + guarded}, respelledRules())
}

// respelledRules take the policy of what the path leads to, and refuse what a path that leads
// elsewhere as it is written may not have.
func respelledRules() []string {
	return []string{
		"http-request unset-var(txn.policy) if " + guarded,
		"http-request set-var(txn.policy) var(txn.backend),field(2,|,0) if " + guarded,
		// A rewrite cuts as many bytes as the route's path has, and a pattern is for the
		// path as it is written, as are the rewrites of single backends.
		"http-request deny deny_status 400 if " + guarded + " { " + record(model.FieldStrip) + " -m len gt 0 } !{ var(txn.backend),strcmp(txn.backend_as_written) eq 0 }",
		"http-request deny deny_status 400 if " + guarded + " " + asks(model.FlagPattern, model.FlagBranchPath) + " !{ var(txn.backend),strcmp(txn.backend_as_written) eq 0 }",
	}
}

// longPathRules refuse paths that a pattern is not applied to, before anyone is asked who
// the client is.
func longPathRules(l Layout, caps plan.Capabilities) []string {
	return []string{ // as sizeRules answer
		"http-request set-var(txn.longest_path) " + rest(model.FieldPattern) + ",field(1,:) if " + asks(model.FlagPattern),
		"http-request " + ownAnswer(l, caps, 414, "The path is too long.") + " if { var(txn.longest_path) -m found } { path,length,sub(txn.longest_path) gt 0 }",
	}
}

// patternRules replace the path by a pattern with captures. HAProxy's own converters take
// patterns of the configuration only.
func patternRules(l Layout, caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{
		"http-request set-var(txn.rewrite) " + rest(model.FieldPattern) + " if " + asks(model.FlagPattern),
		"http-request lua.fairlead_rewrite if { var(txn.rewrite) -m found }",
		"http-request " + ownAnswer(l, caps, 414, "The path is too long.") + " if { var(txn.path_too_long) -m found }",
	}
}

const removeForwarded = "http-request del-header ^(x-forwarded-(for|host|port|proto|proto-version)|forwarded)$ -m reg"

// forwardedRules add the headers that tell a pod who asked, as the mode of the record
// says.
func forwardedRules(tls bool) []string {
	rules := []string{removeForwarded + " if " + mode(model.ModeReplace)}
	for _, h := range forwarded {
		if h.condition != "" && !tls {
			continue
		}
		rules = append(rules, fmt.Sprintf("http-request add-header %s %s if %s!{ req.hdr(%s) -m found } !%s || %s%s",
			h.name, h.value, h.condition, lower(h.name), mode(model.ModeNever), h.condition, mode(model.ModeAppend)))
	}
	return rules
}

// headerActionRules change the headers of a request as its route asks, and
// prepare the same for the response. What plan wrote as lists HAProxy changes by
// itself where it can, for a tenth of what Lua costs.
func headerActionRules(l Layout, caps plan.Capabilities) []string {
	if !caps.Lua && !caps.HeaderLists {
		return nil
	}
	rules := []string{
		fmt.Sprintf("http-request set-var(txn.response_headers) var(txn.backend),map_str(%s) if %s", l.MapFile(plan.MapResponseHeaders), asks(model.FlagResponseHeaders)),
		fmt.Sprintf("http-request set-var(txn.request_headers) var(txn.backend),map_str(%s) if %s", l.MapFile(plan.MapRequestHeaders), asks(model.FlagRequestHeaders)),
	}
	return append(rules, changeRules("http-request", "request", "var(txn.request_headers)", caps)...)
}

// branchRules keep what a request is found by where its policy has changes for single backends:
// before the path is rewritten, and another backend is chosen.
func branchRules(caps plan.Capabilities) []string {
	if !caps.Lua && !caps.HeaderLists {
		return nil
	}
	branched := " if " + asks(model.FlagBranch)
	return []string{
		"http-request set-var(txn.own_backend) var(txn.backend)" + branched,
		"http-request set-var(txn.found_path) path" + branched,
	}
}

// branchHeaderRules change the headers, host and path of requests by the backend that they go
// to, which some of before find.
func branchHeaderRules(l Layout, caps plan.Capabilities, before []string) []string {
	if !caps.Lua && !caps.HeaderLists {
		return before
	}
	rules := slices.Concat(before, []string{
		fmt.Sprintf("http-request set-var(txn.branch_headers) var(txn.own_backend),concat(/,txn.backend),map_str(%s) if { var(txn.own_backend) -m found }", l.MapFile(plan.MapRequestHeaders)),
	})
	rules = append(rules, changeRules("http-request", "branch", "var(txn.branch_headers)", caps)...)
	if caps.Lua {
		rules = append(rules, "http-request lua.fairlead_branch_rewrite if { var(txn.branch_headers),field(4,.) -m len gt 0 }")
	}
	return rules
}

// responseRules are the rules for what comes back from a backend, and then those
// of the IngressController.
func responseRules(s Settings, l Layout, caps plan.Capabilities) []string {
	changes, own := changeRules("http-response", "response", "var(txn.response_headers)", caps), headerRules("http-response", s.HTTP.ResponseHeaders)
	var pages []string
	if caps.Lua {
		pages = pageResponseRules(l)
	}
	if len(changes) > 0 && len(own) == 0 { // most are done after two looks
		pages = slices.Insert(pages, 0, "http-response allow if !{ var(txn.response_headers) -m found } !{ var(txn.pages) -m found }")
	}
	return slices.Concat(pages, changes, own)
}

// changeRules change headers as a text of plan's says.
func changeRules(rule, message, text string, caps plan.Capabilities) []string {
	var rules []string
	script := "{ " + text + " -m found }"
	if caps.HeaderLists {
		script = "{ " + text + " -m beg ~ }"
		lists := "{ " + text + " -m found } !" + script
		rules = append(rules,
			rule+" set-headers-bin "+text+",field(1,.),b64dec if "+lists,
			rule+" del-headers-bin "+text+",field(2,.),b64dec if "+lists,
			rule+" add-headers-bin "+text+",field(3,.),b64dec if "+lists+" { "+text+",field(3,.) -m len gt 0 }")
	}
	if caps.Lua {
		rules = append(rules, rule+" lua.fairlead_"+message+"_headers if "+script)
	}
	return rules
}

// forwarded are the headers that tell a pod who asked and how. sess.forwarded_for is
// made once for each connection.
var forwarded = []struct{ name, value, condition string }{
	{"X-Forwarded-For", "%[src]", ""},
	{"X-Forwarded-Host", "%[var(txn.host)]", ""},
	{"X-Forwarded-Port", "%[dst_port]", ""},
	{"X-Forwarded-Proto", "%[ssl_fc,iif(https,http)]", ""},
	{"X-Forwarded-Proto-Version", "h2", "{ ssl_fc_alpn -i h2 } "},
	{"Forwarded", "%[var(sess.forwarded_for)];host=%[var(txn.host)];proto=%[ssl_fc,iif(https,http)]", ""},
}

// clientRules name the client as the Forwarded header does, RFC 7239, which
// wants brackets and quotes around an IPv6 address.
func clientRules() []string {
	return []string{
		"tcp-request session set-var-fmt(sess.forwarded_for) for=%[src] if !{ src -m sub : }",
		`tcp-request session set-var-fmt(sess.forwarded_for) "for=\"[%[src]]\"" if { src -m sub : }`,
	}
}

// profileRules end the rules of HTTP backends: what only a backend can do, and
// the headers of requests that policyRules left alone.
func profileRules(caps plan.Capabilities) []string {
	rules := []string{
		"http-request set-timeout server var(txn.server_timeout) if { var(txn.server_timeout) -m found }",
		"http-request set-timeout tunnel var(txn.tunnel_timeout) if { var(txn.tunnel_timeout) -m found }",
	}
	rules = append(rules, profileTimeoutRules(caps)...)
	rules = append(rules, "http-request allow if "+asked)
	for _, h := range forwarded {
		rule := "http-request add-header " + h.name + " " + h.value
		if h.condition != "" {
			rule += " if " + h.condition
		}
		rules = append(rules, rule)
	}
	return rules
}
