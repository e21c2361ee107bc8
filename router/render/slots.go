package render

import (
	"fmt"
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

// slotFrontend is what the template prints of a block.
type slotFrontend struct {
	Name        string
	Binds       []string
	SlotRules   []string
	LookupRules []string
}

// slotFrontends are the frontends of the blocks that there are.
func slotFrontends(s Settings, l Layout) []slotFrontend {
	if s.HTTPSlots.Count == 0 {
		return nil
	}
	return []slotFrontend{{
		Name: "gateway_http", Binds: slotBinds(s, s.HTTPSlots),
		SlotRules: slotRules(s.HTTPSlots, l), LookupRules: slotLookupRules(l),
	}}
}

// slotBinds listens on all ports of a block. HAProxy numbers the sockets of a frontend as it
// reads them, from 1 on, so the ports of IPv6 follow those of IPv4 (slotRules).
func slotBinds(s Settings, of Slots) []string {
	ports := fmt.Sprintf("%d-%d", of.First, of.First+of.Count-1)
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

// slotRules find the slot of a connection, whatever a PROXY header says of its address, and
// then take the port that clients know for its own: in what pods and logs are told.
func slotRules(of Slots, l Layout) []string {
	return []string{
		fmt.Sprintf("tcp-request session set-var(sess.slot) so_id,sub(1),mod(%d),add(%d)", of.Count, of.First),
		"tcp-request session reject if !{ var(sess.slot),map_str(" + l.MapFile(plan.MapListeners) + ") -m found }",
		"tcp-request session set-dst-port var(sess.slot),map_str(" + l.MapFile(plan.MapListeners) + ")",
	}
}

// slotLookupRules find the listener of a request, and in its scope what the path leads to:
// for the host, then for the wildcard that covers it, then for any host
// (match.Tables.decideScoped). txn.scope and txn.suffix are Lua's to read
// (templates/conditions.lua).
func slotLookupRules(l Layout) []string {
	listeners, suffixes, routes := l.MapFile(plan.MapListeners), l.MapFile(plan.MapSuffixes), l.MapFile(plan.MapHTTP)
	labels := make([]string, 8)
	for i := range labels {
		labels[i] = fmt.Sprintf("%%[var(txn.name),field(-%d,.)]", i+1)
	}
	const unscoped, missed = "!{ var(txn.scope) -m found }", "{ var(txn.backend) -m str !miss }"
	reverse := func(condition string) []string {
		return []string{
			`http-request set-var-fmt(txn.labels) "` + strings.Join(labels, ".") + `" if ` + condition,
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
		`http-request set-var(txn.scope) "var(sess.slot),concat(/*),map_str(`+listeners+`,none~)" if `+unscoped,
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
