package render

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Clients bounds what one source of connections may take of the router. A source
// is an IPv4 address or an IPv6 network of 64 bits, which is what one host has.
// It is seen after the PROXY protocol.
type Clients struct {
	// PerSource is the number of concurrent connections; -1 is no limit, 0 a
	// tenth of MaxConn, and leastPerSource at least.
	PerSource int
	// TLSRate is the number of new connections to the TLS port in 10 seconds;
	// -1 is no limit, 0 is defaultTLSRate.
	TLSRate int
	// Exempt are networks without these limits, ProxySources those that may speak
	// the PROXY protocol, one on each line. An empty ProxySources means all.
	Exempt, ProxySources string
}

const (
	leastPerSource   = 100
	defaultPerSource = 2000
	defaultTLSRate   = 1000
	// crowdShare of its limit is what a source may have once half of all
	// connections are taken.
	crowdShare = 10
)

func (c Clients) withDefaults(maxConn int) Clients {
	if c.PerSource == 0 {
		c.PerSource = defaultPerSource
		if maxConn > 0 {
			c.PerSource = max(maxConn/10, leastPerSource)
		}
	}
	if c.TLSRate == 0 {
		c.TLSRate = defaultTLSRate
	}
	return c
}

func (l Layout) exemptFile() string       { return filepath.Join(l.Dir, "exempt.lst") }
func (l Layout) proxySourcesFile() string { return filepath.Join(l.Dir, "proxy-sources.lst") }

// The frontends that clients connect to. A TLS connection that ends at tlsFrontend
// goes on to a further one, which is not counted again.
const (
	plainFrontend        = "public"
	tlsFrontend          = "public_ssl"
	slotFrontend         = "gateway_http"
	secureSlotFrontend   = "gateway_https"
	fallbackSlotFrontend = "gateway_https_fallback"
	tlsSlotFrontend      = "gateway_tls"
	tcpSlotFrontend      = "gateway_tcp"
)

// clientFrontends are those that there are.
func clientFrontends(s Settings) []string {
	all := []string{plainFrontend, tlsFrontend}
	if s.HTTPSlots.Count > 0 {
		all = append(all, slotFrontend)
	}
	if s.HTTPSSlots.Count > 0 {
		all = append(all, secureSlotFrontend)
	}
	if s.FallbackSlots.Count > 0 {
		all = append(all, fallbackSlotFrontend)
	}
	if s.TLSSlots.Count > 0 {
		all = append(all, tlsSlotFrontend)
	}
	if s.TCPSlots.Count > 0 {
		all = append(all, tcpSlotFrontend)
	}
	return all
}

// connectionRules decide about a new connection of a client, before anything of
// it is read.
//
// The counters of a source are in sc2: gpc0 counts admitted TLS connections, gpc1
// refusals, by which Runtime.RefusedSources finds it.
func connectionRules(s Settings, l Layout, frontend string) []string {
	var rules []string
	stage, tls := "connection", slices.Contains([]string{tlsFrontend, secureSlotFrontend, fallbackSlotFrontend, tlsSlotFrontend}, frontend)
	if s.ProxyProtocol {
		// Until its header has been read, the source is the load balancer.
		if s.Clients.ProxySources != "" {
			rules = append(rules, "tcp-request connection reject if !{ src -f "+l.proxySourcesFile()+" }")
		}
		stage = "session"
	}
	add := func(format string, args ...any) {
		rules = append(rules, "tcp-request "+stage+" "+fmt.Sprintf(format, args...))
	}
	refuse := func(condition string) {
		add("sc-inc-gpc1(2) if %s", condition)
		add("reject if %s", condition)
	}
	c := s.Clients
	if c.PerSource > 0 || c.TLSRate > 0 {
		exempt := ""
		if c.Exempt != "" {
			exempt = " if !{ src -f " + l.exemptFile() + " }"
		}
		add("track-sc2 src,ipmask(32,64) table router_sources%s", exempt)
	}
	if s.MaxConn > 0 {
		sum := ""
		for _, other := range clientFrontends(s) {
			if other != frontend {
				add("set-var(sess.other_connections) fe_conn(%s)%s", other, sum)
				sum = ",add(sess.other_connections)"
			}
		}
	}
	if c.PerSource > 0 {
		refuse(fmt.Sprintf("{ sc2_conn_cur(router_sources) gt %d }", c.PerSource))
		if s.MaxConn > 0 {
			refuse(fmt.Sprintf("{ fe_conn,add(sess.other_connections) gt %d } { sc2_conn_cur(router_sources) gt %d }", s.MaxConn/2, max(c.PerSource/crowdShare, 1)))
		}
	}
	if tls && c.TLSRate > 0 {
		refuse(fmt.Sprintf("{ sc2_gpc0_rate(router_sources) ge %d }", c.TLSRate))
		add("sc-inc-gpc0(2)")
	}
	if s.MaxConn > 0 {
		add("reject if { fe_conn,add(sess.other_connections) gt %d }", s.MaxConn)
	}
	return rules
}

// sourceTable counts what each source has. A source with a connection is never
// dropped from a table that has room for all of them.
func sourceTable(s Settings) string {
	return fmt.Sprintf("stick-table type ipv6 size %d expire 30s store conn_cur,gpc0,gpc0_rate(10s),gpc1", max(2*s.MaxConn, 100_000))
}

// crowdRules end HTTP/1 connections with their answer where many of a frontend's
// are there, or of all frontends, so that idle ones never take the whole limit. HTTP/2 has
// no such word.
func crowdRules(s Settings) []string {
	if s.MaxConn <= 0 {
		return nil
	}
	rule := fmt.Sprintf("http-after-response set-header Connection close if { fe_conn gt %d } !{ status 101 }", s.MaxConn*2/5)
	if len(clientFrontends(s)) > 2 {
		rule += fmt.Sprintf(" || { fe_conn,add(sess.other_connections) gt %d } !{ status 101 }", s.MaxConn*4/5)
	}
	return []string{rule}
}
