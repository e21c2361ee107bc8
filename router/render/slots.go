package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// Slots is a block of ports of the router's pod. The operator gives each to one port of one
// Gateway; the router decides by data which hosts and claims it serves. So Gateways come
// and go without a reload.
type Slots struct {
	// First is the block's first port, and Count how many there are; none by default.
	First, Count int
}

// slotSection is what the template prints of a block.
type slotSection struct {
	Name  string
	Binds []string
	// ConnectionRules decide about new connections, SessionRules about those that are
	// established.
	ConnectionRules, SessionRules []string
	// CertRules are about certificates of clients.
	CertRules                []string
	LookupRules, PolicyRules []string
	// Sorts says that TLS of some connections ends elsewhere.
	Sorts bool
}

// slotFrontends are the frontends of the blocks that there are.
func slotFrontends(s Settings, l Layout, caps plan.Capabilities) (all []slotSection) {
	if s.HTTPSlots.Count > 0 {
		all = append(all, slotSection{
			Name: slotFrontend, Binds: slotBinds(s, s.HTTPSlots), ConnectionRules: connectionRules(s, l, slotFrontend),
			SessionRules: slotRules(s.HTTPSlots, l), LookupRules: slotLookupRules(l), PolicyRules: slotPolicyRules(s, l, caps),
		})
	}
	if s.HTTPSSlots.Count > 0 {
		all = append(all, secureSlotSection(s, l, caps, secureSlotFrontend, s.HTTPSSlots, ""))
	}
	if s.FallbackSlots.Count > 0 {
		all = append(all, secureSlotSection(s, l, caps, fallbackSlotFrontend, s.FallbackSlots, fallbackBind))
	}
	if s.TLSSlots.Count > 0 {
		all = append(all, sortedSlotSection(s, l, caps))
	}
	return all
}

// secureSlotSection is the frontend of a block of ports where TLS ends.
func secureSlotSection(s Settings, l Layout, caps plan.Capabilities, name string, of Slots, bind string) slotSection {
	return slotSection{
		Name: name, Binds: secureSlotBinds(s, l, of, bind+unresumed(caps)), ConnectionRules: slices.Concat(askedRules(of, l), connectionRules(s, l, name)),
		SessionRules: slices.Concat(tlsOptions(s), slotRules(of, l), shownRules(l), unresumedRules(caps)), CertRules: certificateRules(s),
		LookupRules: slices.Concat(slotLookupRules(l), []string{misdirectedRule, leftRule(l)}, slotClientRules(l)), PolicyRules: slotPolicyRules(s, l, caps),
	}
}

// slotBinds listens on all ports of a block. HAProxy numbers the sockets of a frontend as it
// reads them, from 1 on, so the ports of IPv6 follow those of IPv4 (slotRules).
func slotBinds(s Settings, of Slots) []string {
	return slotAddresses(s, fmt.Sprintf("%d-%d", of.First, of.First+of.Count-1))
}

// secureSlotBinds has a line for each port of the block, with a list of its own. Where the
// IngressController asks clients for certificates, so do these.
func secureSlotBinds(s Settings, l Layout, of Slots, options string) []string {
	byFamily := [][]string{}
	for slot := of.First; slot < of.First+of.Count; slot++ {
		for i, bind := range slotAddresses(s, strconv.Itoa(slot)) {
			if i == len(byFamily) {
				byFamily = append(byFamily, nil)
			}
			byFamily[i] = append(byFamily[i], bind+" ssl crt-list "+l.SlotList(slot)+" alpn h2,http/1.1"+tlsBind(s, l)+options)
		}
	}
	return slices.Concat(byFamily...)
}

func slotAddresses(s Settings, ports string) []string {
	var b []string
	switch {
	case s.Listen.Is6():
		b = []string{"[" + s.Listen.String() + "]:" + ports}
	case s.Listen.IsValid():
		b = []string{s.Listen.String() + ":" + ports}
	default:
		b = []string{"*:" + ports}
		if s.IPv6 {
			b = append(b, ":::"+ports+" v6only")
		}
	}
	if s.ProxyProtocol {
		for i := range b {
			b[i] += " accept-proxy"
		}
	}
	return b
}

// slotFetch is the slot of a connection.
func slotFetch(of Slots) string {
	return fmt.Sprintf("so_id,sub(1),mod(%d),add(%d)", of.Count, of.First)
}

// slotRules find the slot of a connection, whatever a PROXY header says of its address, and
// then take the port that clients know for its own: in what pods and logs are told.
func slotRules(of Slots, l Layout) []string {
	return []string{
		"tcp-request session set-var(sess.slot) " + slotFetch(of),
		"tcp-request session reject if !{ var(sess.slot),map_str(" + l.MapFile(plan.MapListeners) + ") -m found }",
		"tcp-request session set-dst-port var(sess.slot),map_str(" + l.MapFile(plan.MapListeners) + ")",
	}
}

// shownRules find the listener whose certificate a client was shown, as slotLookupRules find
// that of a request: by the server name, or that without a hostname.
func shownRules(l Layout) []string {
	listeners, suffixes := l.MapFile(plan.MapListeners), l.MapFile(plan.MapSuffixes)
	const named, unknown = "{ var(sess.name) -m found }", "!{ var(sess.shown) -m found }"
	return []string{
		"tcp-request session set-var(sess.name,ifnotempty) ssl_fc_sni,lower,rtrim(.)",
		`tcp-request session set-var(sess.shown) "var(sess.slot),concat(/,sess.name),map_str(` + listeners + `)" if ` + named,
		`tcp-request session set-var-fmt(sess.labels) "` + lastLabels("sess.name") + `" if ` + named + " " + unknown + " { var(sess.slot),concat(/+),map_str(" + listeners + ") -m found }",
		`tcp-request session set-var(sess.reversed) "var(sess.labels),rtrim(.)" if { var(sess.labels) -m found }`,
		`tcp-request session set-var(sess.shown) "var(sess.slot),concat(/,sess.reversed,/),map_beg(` + suffixes + `)" if { var(sess.reversed) -m found }`,
		`tcp-request session set-var(sess.shown) "var(sess.slot),concat(/*),map_str(` + listeners + `)" if ` + unknown,
		"tcp-request session reject if " + unknown,
	}
}

// misdirectedRule refuses requests for hosts of another listener than the one whose
// certificate the client was shown: a connection of HTTP/2 that a client uses again for another host,
// because the certificate covers it, too (RFC 9110, section 15.5.20).
const misdirectedRule = "http-request return status 421 content-type text/plain string 'Ask for this host over a connection of its own.'" +
	" if !{ var(txn.scope) -m str " + noScope + " } !{ var(txn.scope),strcmp(sess.shown) eq 0 }"

// leftRule has clients of HTTP/1 open new connections, which are led to the slot that their port
// has moved to. HAProxy makes no GOAWAY of it for those of HTTP/2, which stay.
func leftRule(l Layout) string {
	return "http-after-response set-header connection close if !{ status 101 } { var(sess.slot),concat(-),map_str(" + l.MapFile(plan.MapListeners) + ") -m found }"
}

// pauseRule lets clients of calls of gRPC be silent for as long as pods may be
// (profileTimeoutRules): no other claim of a Gateway bounds pauses.
const pauseRule = "http-request set-timeout client var(txn.idle_timeout) if { var(txn.idle_timeout) -m found }"

// noScope is where no claim is made: the scope of hosts that no listener is for.
const noScope = "none~"

// lastLabels is a format with the labels of a name from behind (match.SuffixKey).
func lastLabels(variable string) string {
	labels := make([]string, 8)
	for i := range labels {
		labels[i] = fmt.Sprintf("%%[var(%s),field(-%d,.)]", variable, i+1)
	}
	return strings.Join(labels, ".")
}

// slotLookupRules find the listener of a request, and in its scope what the path leads to:
// for the host, then for the wildcard that covers it, then for any host
// (match.Tables.decideScoped). txn.scope and txn.suffix are Lua's to read
// (templates/conditions.lua).
func slotLookupRules(l Layout) []string {
	listeners, suffixes, routes := l.MapFile(plan.MapListeners), l.MapFile(plan.MapSuffixes), l.MapFile(plan.MapHTTP)
	const unscoped, missed = "!{ var(txn.scope) -m found }", "{ var(txn.backend) -m str !miss }"
	reverse := func(condition string) []string {
		return []string{
			`http-request set-var-fmt(txn.labels) "` + lastLabels("txn.name") + `" if ` + condition,
			`http-request set-var(txn.reversed) "var(txn.labels),rtrim(.)" if ` + condition,
		}
	}
	rules := []string{
		"http-request set-var(txn.name) var(txn.host),host_only,rtrim(.)",
		`http-request set-var(txn.scope) "var(sess.slot),concat(/,txn.name),map_str(` + listeners + `)"`,
	}
	rules = append(rules, reverse(unscoped+` { var(sess.slot),concat(/+),map_str(`+listeners+`) -m found }`)...)
	rules = append(rules,
		`http-request set-var(txn.scope) "var(sess.slot),concat(/,txn.reversed,/),map_beg(`+suffixes+`)" if { var(txn.reversed) -m found }`,
		`http-request set-var(txn.scope) "var(sess.slot),concat(/*),map_str(`+listeners+`,`+noScope+`)" if `+unscoped,
		`http-request set-var(txn.backend) "var(txn.scope),concat(,txn.name),concat(,txn.path,/#),map_beg(`+routes+`,!miss)"`,
	)
	rules = append(rules, reverse(missed+" !{ var(txn.reversed) -m found }")...)
	return append(rules,
		`http-request set-var(txn.suffix) "var(txn.scope),concat(,txn.reversed,/),map_beg(`+suffixes+`)" if { var(txn.reversed) -m found }`,
		`http-request set-var-fmt(txn.wildcard_key) "%[var(txn.scope)]%[var(txn.suffix),field(1,|)]%[path]/#" if `+missed,
	)
}

// slotMissRules look for what the host itself has no answer for.
func slotMissRules(l Layout) []string {
	routes := l.MapFile(plan.MapHTTP)
	const missed, further = "{ var(txn.backend) -m str !miss }", "{ var(txn.suffix) -m sub | } "
	look := "http-request set-var(txn.backend) var(txn.wildcard_key),map_beg(" + routes + ",!miss) if "
	rules := []string{look + "{ var(txn.wildcard_key) -m found }"}
	for _, n := range []string{"2", "3"} { // match.SuffixValue
		rules = append(rules,
			`http-request set-var-fmt(txn.wildcard_key) "%[var(txn.scope)]%[var(txn.suffix),field(`+n+`,|)]%[path]/#" if `+further+missed, look+further+missed)
	}
	return append(rules,
		`http-request set-var-fmt(txn.any_host_key) "%[var(txn.scope)]*%[path]/#" if `+missed,
		"http-request set-var(txn.backend) var(txn.any_host_key),map_beg("+routes+",!none) if { var(txn.any_host_key) -m found }",
	)
}
