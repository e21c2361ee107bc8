package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

func lower(s string) string { return strings.ToLower(s) }

// quote makes one word of a text, whatever it holds: within single quotes
// HAProxy gives no character a meaning.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// httpOptions begin the frontends that route HTTP.
func httpOptions(s Settings, caps plan.Capabilities) []string {
	lines := append(logOptions(s.Log, "option httplog"), observeRequestOptions(s, caps)...)
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if s.Log.Target != "" {
		if s.Log.Format != "" {
			add("log-format %s", quote(s.Log.Format))
		}
		for _, c := range s.Log.RequestHeaders {
			add("capture request header %s len %d", quote(c.Name), c.Length)
		}
		for _, c := range s.Log.ResponseHeaders {
			add("capture response header %s len %d", quote(c.Name), c.Length)
		}
		if c := s.Log.Cookie; c.Name != "" {
			add("capture cookie %s len %d", quote(c.Name), c.Length)
		}
	}
	if s.HTTP.IgnoreProbes {
		add("option http-ignore-probes")
	}
	if s.HTTP.Bandwidth {
		add("filter bwlim-out download default-limit 1g default-period 1s")
		add("filter bwlim-in upload default-limit 1g default-period 1s")
	}
	if s.HTTP.ContinuousStats {
		add("option contstats")
	}
	if len(s.HTTP.CaseAdjustments) > 0 {
		add("option h1-case-adjust-bogus-client")
	}
	if len(s.HTTP.Compress) > 0 {
		add("compression algo gzip")
		types := make([]string, len(s.HTTP.Compress))
		for i, t := range s.HTTP.Compress {
			types[i] = quote(t)
		}
		add("compression type %s", strings.Join(types, " "))
	}
	if s.HTTP.UniqueIDName != "" {
		add("unique-id-format %s", quote(s.HTTP.UniqueIDFormat))
	}
	return lines
}

func logOptions(l Log, form string) []string {
	if l.Target == "" {
		return nil
	}
	lines := []string{"log global", form}
	if l.IgnoreEmpty {
		lines = append(lines, "option dontlognull")
	}
	return lines
}

// sortOptions begin the frontend that sorts TLS connections.
func sortOptions(s Settings, caps plan.Capabilities) []string {
	return append(logOptions(s.Log, "option tcplog"), observeConnectionOptions(s, caps)...)
}

// sortRules log passthrough connections only: the others are logged request by
// request where their TLS ends.
func sortRules(s Settings, l Layout, caps plan.Capabilities) []string {
	observed := observeConnectionRules(s, l, caps)
	if s.Log.Target == "" {
		return append(silentRules(s, "tcp-request content"), observed...)
	}
	return append([]string{
		"tcp-request content set-log-level silent if !{ var(sess.backend) -m found }",
		"tcp-request content set-log-level silent if { var(sess.backend) -m beg ! }",
	}, observed...)
}

// tlsBind asks clients for certificates.
func tlsBind(s Settings, l Layout) string {
	c := s.ClientTLS
	if c.Verify == "" || c.CA == "" {
		return ""
	}
	bind := " verify " + c.Verify + " ca-file " + l.clientCAFile()
	if c.CRL != "" {
		bind += " crl-file " + l.clientCRLFile()
	}
	return bind
}

func tlsOptions(s Settings) []string {
	if !s.ClientTLS.Closed {
		return nil
	}
	return []string{"tcp-request connection reject"}
}

// certificateRules check the certificate of a client and tell pods about it.
func certificateRules(s Settings) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	if s.ClientTLS.Subject != "" {
		// The text that patterns match has a slash before each RDN and none
		// escaped: CN="bob/OU=staff" would read as two. This form has no
		// slashes but those of values.
		add("deny deny_status 403 if { ssl_c_s_dn(,0,rfc2253) -m sub / }")
		add("deny deny_status 403 if !{ ssl_c_used } || !{ ssl_c_s_dn -m reg %s }", quote(s.ClientTLS.Subject))
	}
	if s.ClientTLS.Verify == "" {
		return rules
	}
	for _, h := range certificateHeaders {
		add("set-header %s %s", h.name, h.value)
	}
	return rules
}

// certificateHeaders tell pods about the certificate of a client.
var certificateHeaders = []struct{ name, value string }{
	{"X-SSL", "%[ssl_fc]"},
	{"X-SSL-Client-Verify", "%[ssl_c_verify]"},
	{"X-SSL-Client-Serial", "%{+Q}[ssl_c_serial,hex]"},
	{"X-SSL-Client-Version", "%{+Q}[ssl_c_version]"},
	{"X-SSL-Client-SHA1", "%{+Q}[ssl_c_sha1,hex]"},
	{"X-SSL-Client-DN", "%{+Q}[ssl_c_s_dn]"},
	{"X-SSL-Client-CN", "%{+Q}[ssl_c_s_dn(cn)]"},
	{"X-SSL-Issuer", "%{+Q}[ssl_c_i_dn]"},
	{"X-SSL-Client-NotBefore", "%{+Q}[ssl_c_notbefore]"},
	{"X-SSL-Client-NotAfter", "%{+Q}[ssl_c_notafter]"},
	{"X-SSL-Client-DER", "%{+Q}[ssl_c_der,base64]"},
}

// anyHostRules look for a route for any host, where no route of any listener
// names the host of the request: neither itself nor a wildcard. txn.wildcard_key is there
// if the host itself had no answer.
func anyHostRules(s Settings, l Layout, m plan.Map) []string {
	if !s.AnyHost {
		return nil
	}
	named := "map_beg(" + l.MapFile(plan.MapHTTP) + ") -m found }"
	return []string{
		`http-request set-var-fmt(txn.any_host_key) "*%[path]/#" if { var(txn.wildcard_key) -m found } !{ var(txn.wildcard_key),` + named +
			` !{ var(txn.host),host_only,rtrim(.),concat(,txn.path,"/#"),` + named,
		"http-request set-var(txn.backend) var(txn.any_host_key),map_beg(" + l.MapFile(m) + ",!none) if { var(txn.any_host_key) -m found }",
	}
}

// conditionRules decide between claims with conditions, where the key of a path has a list
// of values (match.List). They come once more where paths are looked up normalised.
func conditionRules(caps plan.Capabilities, tls bool) []string {
	if !caps.Lua {
		return nil
	}
	listener := "http"
	if tls {
		listener = "https"
	}
	return []string{"http-request lua.fairlead_conditions " + listener + " if { var(txn.backend) -m beg ? }"}
}

// requestRules come before the policies of routes. The unique ID is set by a
// rule, in place of what the client sent, because HAProxy's unique-id-header
// would only add it, and after the actions that may want to read it.
func requestRules(s Settings) []string {
	var rules []string
	if s.HTTP.UniqueIDName != "" {
		rules = append(rules, "http-request set-header "+quote(s.HTTP.UniqueIDName)+" %[unique-id]")
	}
	return slices.Concat(rules, uniqueIDRules(s), headerRules("http-request", s.HTTP.RequestHeaders))
}

// headerRules are the header changes of the IngressController.
func headerRules(direction string, actions []model.HeaderAction) []string {
	var rules []string
	for _, a := range actions {
		if a.Delete {
			rules = append(rules, direction+" del-header "+quote(a.Name))
			continue
		}
		rules = append(rules, direction+" set-header "+quote(a.Name)+" "+quote(a.Value))
	}
	return rules
}

func notFoundRule(s Settings, l Layout) string {
	if s.Pages.NotFound != "" {
		return "http-request return status 404 errorfile " + l.notFoundFile()
	}
	return `http-request return status 404 content-type "text/html; charset=utf-8" file ` + l.PagesDir() +
		`/404.html hdr Cache-Control "private, max-age=0, no-cache, no-store" hdr Pragma no-cache`
}
