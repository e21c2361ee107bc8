package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
)

const (
	// maxSources bounds a list of networks.
	maxSources = 1000
	// noSource is a network that no connection comes from.
	noSource = "0.0.0.0/32"
)

// clientLimit reads a limit of what one source of connections may take.
func (r *reader) clientLimit(field, value string, into *int) {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < 0 || n > maxConnections:
		r.find(field, "must be a whole number from 0 to "+strconv.Itoa(maxConnections)+"; 0 is no limit", "the default is used")
	case n == 0:
		*into = -1
	default:
		*into = n
	}
}

// sources reads a list of networks, with spaces or commas between them. It
// returns those that can be used, one on a line, and those that cannot.
func sources(value string) (lines string, bad []string) {
	var good []string
	for _, text := range strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' }) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(text); err == nil && a.Zone() == "" {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if !p.IsValid() || p.Addr().Is4In6() || len(good) == maxSources {
			bad = append(bad, text)
			continue
		}
		good = append(good, p.Masked().String())
	}
	slices.Sort(good)
	return strings.Join(slices.Compact(good), "\n"), bad
}

// exemptSources reads the sources without limits. An entry that cannot be read has them.
func (r *reader) exemptSources(field, value string) {
	good, bad := sources(value)
	r.out.Render.Clients.Exempt = good
	if len(bad) > 0 {
		r.find(field, notNetworks(bad), "limits hold for them")
	}
}

// proxySources reads the sources that may use the PROXY protocol. If there is no usable
// network, no source may.
func (r *reader) proxySources(field, value string) {
	good, bad := sources(value)
	if good == "" {
		good = noSource
	}
	r.out.Render.Clients.ProxySources = good
	if len(bad) > 0 {
		r.find(field, notNetworks(bad), "connections from there are refused")
	}
}

// anyProxySource is a hint that clients may be able to claim an address.
func (r *reader) anyProxySource() {
	if s := &r.out.Render; s.ProxyProtocol && s.Clients.ProxySources == "" {
		r.findings = append(r.findings, api.Finding{
			Object: r.ref, Field: "spec.endpointPublishingStrategy", Reason: api.ReasonAnyProxySource, Severity: api.SeverityInfo,
			Message: "every source may speak the PROXY protocol: a client that gets past the load balancer can claim any address; " +
				"list the load balancers in spec.unsupportedConfigOverrides.proxyProtocolSources",
		})
	}
}

func notNetworks(bad []string) string {
	const shown = 5
	quoted := make([]string, 0, shown)
	for _, b := range bad[:min(len(bad), shown)] {
		quoted = append(quoted, strconv.Quote(b))
	}
	return "must be addresses and networks such as 192.0.2.0/24 and 2001:db8::/32, at most " +
		strconv.Itoa(maxSources) + ", with spaces or commas between them; not " + strings.Join(quoted, ", ")
}
