package render

import (
	"regexp"
	"strings"
)

// hostRules refuse hosts with characters that no host name, address or port has.
// A wildcard would take them over into headers that pods read, such as Forwarded,
// where a quotation mark or a semicolon begins another statement. A comma would
// make several hosts of one.
func hostRules() []string {
	return []string{"http-request deny deny_status 400 if { req.fhdr(host) -m reg [^][A-Za-z0-9._:%~*-] }"}
}

// connectionHeaderRules leave of a client's Connection header only the upgrade.
// The header may name others, which a proxy in a pod then removes: those that the
// router adds, too. HAProxy itself has read it by now.
func connectionHeaderRules() []string {
	const upgrade = "{ req.hdr(connection) -i upgrade }"
	return []string{
		"http-request set-header Connection Upgrade if " + upgrade,
		"http-request del-header Connection if !" + upgrade,
	}
}

// lookalikeRules remove headers that differ from the router's own by an
// underscore for a hyphen. Programs that read headers as CGI variables (WSGI, PHP,
// Rack) take both for the same. plan.PolicyEntries does so for those of a route.
// The first rule's condition is all that a request without underscores costs.
func lookalikeRules(s Settings) []string {
	const condition = " if { req.hdr_names -m sub _ }"
	names := "'^x(_(forwarded[-_]|ssl([-_]|$))|-(forwarded|ssl).*_)'" // one rule costs half of two
	if s.ClientTLS.KeepHeaders {
		names = "'^x(_forwarded[-_]|-forwarded.*_)'"
	}
	rules := []string{"http-request del-header " + names + " -m reg" + condition}
	set := []string{s.HTTP.UniqueIDName}
	for _, a := range s.HTTP.RequestHeaders {
		set = append(set, a.Name)
	}
	for _, name := range set {
		if strings.Contains(name, "-") {
			rules = append(rules, "http-request del-header "+quote(lookalikes(name))+" -m reg"+condition)
		}
	}
	return rules
}

// lookalikes matches the names that differ from one by underscores for hyphens,
// but not the name itself: one way for each hyphen that is the first to differ.
func lookalikes(name string) string {
	parts := strings.Split(lower(name), "-")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ways := make([]string, 0, len(parts)-1)
	for i := 1; i < len(parts); i++ {
		ways = append(ways, strings.Join(parts[:i], "-")+"_"+strings.Join(parts[i:], "[-_]"))
	}
	return "^(" + strings.Join(ways, "|") + ")$"
}
