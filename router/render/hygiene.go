package render

import (
	"regexp"
	"strings"
)

// hostRules come once txn.host, the Host header in lower case, has been looked
// up. They refuse hosts with characters that no host name, address or port has: a
// quotation mark or a semicolon begins another statement in headers that pods
// read, such as Forwarded, and a comma makes several hosts of one. Only what a
// wildcard takes can hold them, or what stands beside a host that was found: a
// port, or the beginning of a path.
func hostRules() []string {
	const odd = " { var(txn.host) -m reg [^][a-z0-9._:%~*-] }"
	return []string{
		"http-request deny deny_status 400 if { var(txn.wildcard_key) -m found }" + odd + " || { var(txn.host) -m sub : / }" + odd,
		"http-request set-header Host %[var(txn.host)] if !{ req.fhdr(host),strcmp(txn.host) eq 0 }",
	}
}

// cleanRules take away what only the router may say about certificates and
// clients, whatever the spelling, and what no client needs. All that most requests
// pay is one look at the names of their headers, and one for Connection.
func cleanRules(s Settings) []string {
	names := []string{"proxy$", "x_forwarded[-_]", "x-forwarded.*_"}
	for _, name := range addedHeaders(s) {
		names = append(names, lookalikes(name)...)
	}
	signs := "_ proxy"
	if !s.ClientTLS.KeepHeaders {
		names = append(names, "x-ssl$", "x-ssl-client-", "x-ssl-issuer$", "x_ssl([-_]|$)", "x-ssl.*_")
		signs += " x-ssl"
	}
	remove := "http-request del-header " + quote("^("+strings.Join(names, "|")+")") + " -m reg if { req.hdr_names -m sub " + signs + " }"
	return append([]string{remove}, connectionHeaderRules()...)
}

// connectionHeaderRules leave of a client's Connection header only the upgrade.
// The header may name others, which a proxy in a pod then removes: those that the
// router adds, too. HAProxy itself has read it by now.
func connectionHeaderRules() []string {
	const upgrade = "{ req.hdr(connection) -i upgrade }"
	return []string{
		"http-request set-header Connection Upgrade if " + upgrade,
		"http-request del-header Connection if { req.hdr(connection) -m found } !" + upgrade,
	}
}

// addedHeaders are those that the IngressController adds to requests.
func addedHeaders(s Settings) []string {
	names := []string{s.HTTP.UniqueIDName}
	for _, a := range s.HTTP.RequestHeaders {
		names = append(names, a.Name)
	}
	return names
}

// lookalikes match the names that differ from one by underscores for hyphens, but
// not the name itself: one way for each hyphen that is the first to differ.
// Programs that read headers as CGI variables (WSGI, PHP, Rack) take both for the
// same. plan.PolicyEntries does so for those of a route.
func lookalikes(name string) []string {
	parts := strings.Split(lower(name), "-")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ways := make([]string, 0, len(parts))
	for i := 1; i < len(parts); i++ {
		ways = append(ways, strings.Join(parts[:i], "-")+"_"+strings.Join(parts[i:], "[-_]")+"$")
	}
	return ways
}
