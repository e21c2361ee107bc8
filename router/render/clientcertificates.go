package render

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// ClientLine is one line of the list for hosts that ask clients for certificates.
func ClientLine(l Layout, filter string, line plan.ClientLine) (string, error) {
	file, ca := l.CertFile(line.CertID), l.CAFile(line.CA)
	if err := errors.Join(checkPlain(file), checkPlain(ca), checkPlain(filter)); err != nil {
		return "", &UnsafeError{Step: plan.ClientLineSet{Filter: filter, Line: line}, Err: err}
	}
	options := "verify optional"
	if line.Required {
		options = "verify required"
	}
	if line.HTTP2 {
		options = "alpn h2,http/1.1 " + options
	}
	options += " ca-file " + ca
	if strings.HasSuffix(line.CA, model.RevocableSuffix) {
		// The lists are in the same file. Named here, HAProxy demands one of each authority,
		// and refuses a client whose authority has none, or one that is too old. It comes
		// second: a file is of the kind that it is first named as, and read back as that.
		options += " crl-file " + ca
	}
	return file + " [" + options + "] " + filter, nil
}

// ClientList writes the list for hosts that ask clients for certificates.
func ClientList(w io.Writer, st *plan.State, l Layout) error {
	for _, f := range slices.Sorted(maps.Keys(st.ClientLines)) {
		line, err := ClientLine(l, f, st.ClientLines[f])
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return fmt.Errorf("write the list for client certificates: %w", err)
		}
	}
	return nil
}

// A host may ask clients for certificates that certain authorities have signed. A request
// says its host in a header, long after the handshake has chosen what to ask by the
// server name, and one connection may carry requests for many hosts. So what a host asks
// holds only for handshakes that asked for it:
//
//   - The server name leads such connections to a listener of their own, with a list of
//     its own and without a certificate for any other name.
//   - The mark of the authorities comes along from where the server name was looked up,
//     before the handshake began. The host's record has the same mark, or the authorities
//     are others by now: then the client is asked to connect again.
//   - The host must be the server name.
//   - No session is resumed there that began elsewhere, or with other authorities: HAProxy
//     sees to it (plan.Capabilities.BoundSessions), or resumes none there.

// clientListener is HAProxy's name of the listener for such connections, and markType
// the type of the PROXY protocol's field with the mark.
const (
	clientListener = "clients"
	markType       = "0xE5"
)

// clientBackend hands connections on to the listener.
func clientBackend(l Layout) []string {
	return []string{
		"backend router_clients from " + frontDefaults,
		"  mode tcp",
		"  server clients unix@" + l.RunDir() + "/clients.sock send-proxy-v2 set-proxy-v2-tlv-fmt(" + markType + ") %[var(sess.backend)]",
	}
}

// clientSortRule leads connections there by their server name. Where the
// IngressController asks all clients, none is led there.
func clientSortRule(s Settings) []string {
	if s.ClientTLS.Verify != "" || s.ClientTLS.Closed {
		return nil
	}
	return []string{"use_backend router_clients if { var(sess.backend) -m beg " + model.ClientMarkPrefix + " }"}
}

// clientBind is the listener.
func clientBind(l Layout, caps plan.Capabilities) string {
	bind := "unix@" + l.RunDir() + "/clients.sock name " + clientListener + " mode 600 accept-proxy ssl crt-list " + l.ClientList() + " strict-sni no-alpn"
	if !caps.BoundSessions {
		bind += " no-tls-tickets"
	}
	return bind
}

// clientSessionRules refuse resumed sessions where they may have begun elsewhere. Without
// tickets and without a cache (clientGlobals), no client has any.
func clientSessionRules(caps plan.Capabilities) []string {
	if caps.BoundSessions {
		return nil
	}
	return []string{"tcp-request session reject if { so_name " + clientListener + " } { ssl_fc_is_resumed }"}
}

// clientGlobals are lines of the section global.
func clientGlobals(caps plan.Capabilities) []string {
	if caps.BoundSessions {
		return nil
	}
	return []string{"tune.ssl.cachesize 0"}
}

const certified = "{ var(txn.client_mark) -m found }"

// clientCertificateRules decide by the certificate of the client, after the record is
// known. Requests for other hosts go by after looks at a variable that is not there.
func clientCertificateRules(l Layout, caps plan.Capabilities, tls bool) []string {
	var r rules
	r.add("set-var(txn.client_mark) %s,field(1,+) if %s", rest(model.FieldClientCA), asks(model.FlagCertified))
	r.add("del-header '^(x[-_]ssl([-_]|$)|ssl[-_]client[-_]|x[-_]forwarded[-_]client[-_]cert$|client[-_]cert([-_]chain)?$)' -m reg if %s", certified)
	demanded := certified + " " + asks(model.FlagCertificateDemanded)
	const passed = "set-var(txn.client_passed) bool(true) if " + certified // for fairlead_answered
	if !tls {
		r.add("deny deny_status 403 if %s", demanded)
		r.add(passed)
		return r
	}
	// HAProxy 3.0 looks for another field without an end where the condition itself
	// fetches one that is not equal (3.0.11).
	r.add("set-var(txn.shown_mark) fc_pp_tlv(%s) if %s", markType, certified)
	r.add("set-var(txn.client_host) var(txn.host),host_only,rtrim(.) if %s", certified)
	r.add("set-var(txn.client_asked) bool(true) if %s { so_name %s } { var(txn.shown_mark),strcmp(txn.client_mark) eq 0 } { ssl_fc_sni,lower,strcmp(txn.client_host) eq 0 }", certified, clientListener)
	r.add("return status 421 content-type text/plain string 'Ask for this host over a connection of its own.' if %s !{ var(txn.client_asked) -m found }", certified)
	r.add("deny deny_status 403 if %[1]s !{ ssl_c_used } || %[1]s !{ ssl_c_verify 0 }", demanded)
	subjects := certified + " " + asks(model.FlagSubjects)
	r.add("set-var(txn.client_subject) ssl_c_s_dn(,0,rfc2253),hex if %s", subjects)
	r.add("set-var(txn.client_cn) ssl_c_s_dn(CN),hex if %s", subjects)
	listed := func(letter, variable string) string {
		return fmt.Sprintf("{ var(txn.backend),concat(/%s,%s,.),map_beg(%s) -m found }", letter, variable, l.MapFile(plan.MapSubjects))
	}
	if caps.Lua {
		r.add("set-var(txn.client_patterns) var(txn.backend),concat(/%s),map_str(%s) if %s", model.PatternKey, l.MapFile(plan.MapSubjects), subjects)
		r.add("lua.fairlead_subject_patterns if { var(txn.client_patterns) -m found }")
	}
	r.add("deny deny_status 403 if %s !%s !%s !{ var(txn.client_matched) -m found }", subjects, listed(model.SubjectWhole, "txn.client_subject"), listed(model.SubjectCommon, "txn.client_cn"))
	if caps.Lua {
		r.add("set-var(txn.client_sans) var(txn.backend),concat(/%s),map_str(%s) if %s %s", model.SANKey, l.MapFile(plan.MapSubjects), certified, asks(model.FlagSANs))
		r.add("lua.fairlead_alternative_names if { var(txn.client_sans) -m found }")
	}
	r.add("deny deny_status 403 if %s %s !{ var(txn.client_named) -m found }", certified, asks(model.FlagSANs))
	r.add(passed)
	return r
}

// clientHeaderRules tell pods about the certificate. They end the rules, so that requests
// for other hosts go by after one look.
func clientHeaderRules(caps plan.Capabilities) []string {
	var r rules
	r.add("allow if !%s", certified)
	r.add("set-var(txn.client_forward,ifnotempty) %s,field(2,+)", rest(model.FieldClientCA))
	r.add("allow if { var(txn.client_forward) -m str %s }", model.ForwardNone)
	for _, h := range certificateHeaders {
		r.add("set-header %s %s", h.name, h.value)
	}
	// What ingress-nginx calls them.
	r.add("set-header ssl-client-verify %%[ssl_c_used,iif(SUCCESS,NONE)]")
	r.add("set-header ssl-client-subject-dn %%[ssl_c_s_dn(,0,rfc2253)]")
	r.add("set-header ssl-client-issuer-dn %%[ssl_c_i_dn(,0,rfc2253)]")
	r.add("allow if !{ var(txn.client_forward) -m found } || !{ ssl_c_used }")
	if caps.Lua {
		r.add("lua.fairlead_forward_names if { var(txn.client_forward) -m str %s }", model.ForwardXFCC)
	}
	r.add(`set-header X-Forwarded-Client-Cert "Hash=%%[ssl_c_der,sha2(256),hex,lower];Subject=\"%%[ssl_c_s_dn(,0,rfc2253)]\"%%[var(txn.client_names)]" if { var(txn.client_forward) -m str %s }`, model.ForwardXFCC)
	// Base64 has no blanks: those between its lines become line ends.
	r.add(`set-var(txn.client_pem) "ssl_c_der,base64,regsub('.{64}','\\0 ',g),url_enc,regsub(%%20,%%0A,g)" if { var(txn.client_forward) -m str %s }`, model.ForwardPEM)
	r.add(`set-header ssl-client-cert "-----BEGIN%%%%20CERTIFICATE-----%%%%0A%%[var(txn.client_pem)]%%%%0A-----END%%%%20CERTIFICATE-----%%%%0A" if { var(txn.client_pem) -m found }`)
	r.add("set-header Client-Cert :%%[ssl_c_der,base64]: if { var(txn.client_forward) -m str %s }", model.ForwardDER)
	return r
}
