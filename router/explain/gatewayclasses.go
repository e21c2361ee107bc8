package explain

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// gatewayPort is where clients of a Gateway connect to.
type gatewayPort struct {
	gateway model.Object
	number  int
	// whole is the kind of routes that connections or datagrams are handed on to, empty where
	// requests are read.
	whole model.Kind
}

// portClaims are what routes ask for at a port, by host.
type portClaims struct {
	byHost map[string][]*model.Claim
	// secure and plain say how clients connect.
	secure, plain bool
}

// gatewayClasses lists the classes of requests that routes of Gateways of two sides make, by
// Gateway, port and host, and those of connections and datagrams that are handed on whole.
func gatewayClasses(before, after *Snapshot, note func(string)) iter.Seq[class] {
	ports := map[gatewayPort]*portClaims{}
	for _, s := range []*Snapshot{before, after} {
		if g := s.gateways(); g != nil {
			g.addClaims(ports)
		}
	}
	order := func(a, b gatewayPort) int {
		return cmp.Or(compareKeys(a.gateway, b.gateway), a.number-b.number, cmp.Compare(a.whole, b.whole))
	}
	return func(yield func(class) bool) {
		for _, at := range slices.SortedFunc(maps.Keys(ports), order) {
			for _, host := range slices.Sorted(maps.Keys(ports[at].byHost)) {
				for _, c := range ports[at].classes(at, host, note) {
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

// addClaims adds what routes of one side ask for.
func (g *gateways) addClaims(ports map[gatewayPort]*portClaims) {
	for key := range g.served {
		all, _ := g.pipeline.Claims(key)
		for _, c := range all {
			scope := c.Listener()
			l, served := g.byScope[scope]
			if !served || c.IsShared() { // classes
				continue
			}
			at := portOf(l, c)
			if ports[at] == nil {
				ports[at] = &portClaims{byHost: map[string][]*model.Claim{}}
			}
			p, host := ports[at], claimHost(l, c)
			p.byHost[host] = append(p.byHost[host], c)
			p.secure, p.plain = p.secure || endsTLS(l), p.plain || !endsTLS(l)
		}
	}
}

func portOf(l model.Listener, c *model.Claim) gatewayPort {
	p := gatewayPort{gateway: l.Gateway, number: l.Port}
	if handsOn(l) || c.Datagrams != nil {
		p.whole = c.Owner.Kind
	}
	return p
}

// claimHost is the host that a claim is for at its listener: the narrower one of both.
func claimHost(l model.Listener, c *model.Claim) string {
	_, host := model.SplitHost(c.Host)
	if l.Hostname != "" && covers(host, l.Hostname) {
		return l.Hostname
	}
	return host
}

// covers reports whether claims for a host may answer for another one.
func covers(outer, host string) bool {
	return outer == host || outer == match.Any || strings.HasPrefix(outer, "*.") && match.WildcardCovers(outer, host)
}

// classes lists those of one host.
func (p *portClaims) classes(at gatewayPort, host string, note func(string)) (all []class) {
	if at.whole != "" {
		words := "connections to port " + strconv.Itoa(at.number) + streamName(host)
		if at.whole == gateway.KindUDPRoute {
			words = "datagrams to port " + strconv.Itoa(at.number)
		}
		return []class{{at: &at, host: host, words: words, spans: []span{{}}}}
	}
	b, requests := p.borders(host)
	if n := len(b.edges); n > mostSpans {
		note(fmt.Sprintf("lists of host %s of Gateway %s make about %d ranges of client addresses; only the first %d were compared", host, at.gateway, n, mostSpans))
	}
	sample := sampleHost(host, p.byHost)
	paths := b.ends()
	for i, spans := 0, b.spans(); i < len(spans); i++ {
		for _, c := range requests {
			for _, secure := range p.schemes() {
				c.at, c.host, c.borders, c.client, c.spans = &at, at.address(host, secure), paths, i, spans
				c.request.Secure, c.request.Host, c.request.ClientIP, c.request.SNI = secure, at.address(sample, secure), spans[i].first, ""
				if secure {
					c.request.SNI = sample
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// borders returns those of a host, and the classes of requests for it.
func (p *portClaims) borders(host string) (*borders, []class) {
	b, requests := newBorders(), []class(nil)
	for outer, claims := range p.byHost {
		if !covers(outer, host) {
			continue
		}
		for _, c := range claims {
			b.add(c)
			requests = append(requests, conditionalClass(c)...)
		}
	}
	clear(b.written) // an example of each is among the requests
	return b, append(distinct(requests), b.requests()...)
}

// schemes says whether clients connect with TLS, or without.
func (p *portClaims) schemes() (secure []bool) {
	if p.secure {
		secure = append(secure, true)
	}
	if p.plain {
		secure = append(secure, false)
	}
	return secure
}

// address is a host with the port, unless that is the usual one.
func (p *gatewayPort) address(host string, secure bool) string {
	if secure && p.number == 443 || !secure && p.number == 80 {
		return host
	}
	return host + ":" + strconv.Itoa(p.number)
}

// conditionalClass is that of requests which meet the conditions of a claim, if it has some.
func conditionalClass(c *model.Claim) []class {
	e := c.Expression()
	if c.Conditions == nil && e == nil {
		return nil
	}
	path := samplePath(c)
	out := class{path: path, with: strings.TrimPrefix(conditionsOf(c.Conditions), " if "), request: Request{Path: path}}
	if e != nil {
		out.written = e.Written
	}
	if c.Conditions != nil {
		out.request.Method = c.Conditions.Method
		for _, h := range c.Conditions.Headers {
			out.request.Headers = append(out.request.Headers, Header{h.Name, sampleOf(h)})
		}
		for i, q := range c.Conditions.Queries {
			out.request.Query += map[bool]string{true: "?", false: "&"}[i == 0] + q.Name + "=" + sampleOf(q)
		}
	}
	return []class{out}
}

// distinct leaves classes out that are there twice, in order.
func distinct(all []class) []class {
	key := func(c *class) string { return c.path + "\x00" + c.written + "\x00" + c.with }
	slices.SortFunc(all, func(a, b class) int { return cmp.Compare(key(&a), key(&b)) })
	return slices.CompactFunc(all, func(a, b class) bool { return key(&a) == key(&b) })
}
