package explain

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// A class is a set of requests that no route of either side distinguishes: one request
// stands for all of them. Hosts, paths and client addresses of the routes are its borders.
type class struct {
	request Request
	// host is the host, "*.domain" for all others below it, or "*" for all others.
	host string
	// path is the border, and below says that paths below it are meant, up to the next.
	path  string
	below bool
	// odd are paths that programs read in different ways.
	odd bool
	// written is the expression that decides, in place of a path.
	written string
	// client is one of the spans of client addresses that the host's lists make.
	client int
	spans  []span
	// borders are all paths of the host, without the slash at their end.
	borders []string
	// with says which header, cookie or parameter the request has.
	with string
	// at is the port of a Gateway that the request comes to, or nil, and words are what is
	// handed on whole there.
	at    *gatewayPort
	words string
}

// span is a range of addresses; none without lists.
type span struct{ first, last netip.Addr }

const (
	// otherSegment stands for segments that no route names.
	otherSegment = "~other"
	// otherLabel begins the hosts that stand for those which no route names.
	otherLabel = "other-host"
	// oddPath is ambiguous whatever the routes of a host are.
	oddPath = "/" + otherSegment + "/../" + otherSegment
	// mostSpans bounds how many ranges of client addresses of a host are asked.
	mostSpans = 64
)

// borders are what tells requests for one host apart.
type borders struct {
	paths, written map[string]bool
	edges          map[netip.Addr]bool
	with           map[Header]canarySample
}

type canarySample struct{ path, words string }

// classes lists the classes of requests that the routes of two sides make at the router's own
// address, host by host. It notes where there are more than are looked at.
func classes(before, after *Snapshot, note func(string)) iter.Seq[class] {
	claims := map[string][]*model.Claim{}
	before.addClaims(claims)
	after.addClaims(claims)
	return func(yield func(class) bool) {
		for _, host := range slices.Sorted(maps.Keys(claims)) {
			b := bordersOf(host, claims)
			if n := len(b.edges); n > mostSpans {
				note(fmt.Sprintf("lists of host %s make about %d ranges of client addresses; only the first %d were compared", host, n, mostSpans))
			}
			all := b.classes(host, sampleHost(host, claims))
			for _, c := range claims[host] {
				all = append(all, sharedClass(c)...)
			}
			for _, c := range all {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// addClaims adds what objects ask for at the router's own address, by host.
func (s *Snapshot) addClaims(claims map[string][]*model.Claim) {
	for key := range s.pipeline.Objects() {
		of, _ := s.pipeline.Claims(key)
		for _, c := range of {
			if !model.Scoped(c.Host) { // else gatewayClasses has it
				claims[c.Host] = append(claims[c.Host], c)
			}
		}
	}
}

// sharedClass is that of requests which meet the conditions of an HTTPRoute at the router's own
// address, if it has some.
func sharedClass(c *model.Claim) []class {
	if !c.IsShared() {
		return nil
	}
	all := conditionalClass(c)
	for i := range all {
		one := &all[i]
		one.host, one.written = c.Host, ""
		one.request.Host, one.request.Secure = c.Host, c.Ports() == model.HTTPSPort
		if one.request.Secure {
			one.request.SNI = c.Host
		}
	}
	return all
}

// bordersOf gathers those of all claims that may answer for a host.
func bordersOf(host string, claims map[string][]*model.Claim) *borders {
	b := newBorders()
	for _, also := range slices.Compact([]string{host, match.Wildcard(host), match.Any}) {
		for _, c := range claims[also] {
			b.add(c)
			if e := c.Expression(); e != nil && c.IsShared() {
				delete(b.written, e.Written) // sharedClass
			}
		}
	}
	return b
}

func newBorders() *borders {
	return &borders{map[string]bool{"/": true}, map[string]bool{}, map[netip.Addr]bool{}, map[Header]canarySample{}}
}

// ends are the paths that make a difference, without the slash at their end.
func (b *borders) ends() (paths []string) {
	for path := range b.paths {
		paths = append(paths, strings.TrimSuffix(path, "/"))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// sampleHost returns a host that stands for those which a claim's host covers.
func sampleHost(host string, claims map[string][]*model.Claim) string {
	domain, wild := strings.CutPrefix(host, "*.")
	switch {
	case host == match.Any:
		domain = "invalid"
	case !wild:
		return host
	}
	for n := 0; ; n++ {
		sample := fmt.Sprintf("%s-%d.%s", otherLabel, n, domain)
		if len(claims[sample]) == 0 && (wild || len(claims[match.Wildcard(sample)]) == 0) {
			return sample
		}
		if !wild {
			domain = fmt.Sprintf("%s-%d.invalid", otherLabel, n)
		}
	}
}

func (b *borders) add(c *model.Claim) {
	path := cmp.Or(c.Path, "/")
	if e := c.Expression(); e != nil {
		b.written[e.Written] = true
	} else {
		b.paths[path] = true
		if !strings.HasSuffix(path, "/") {
			b.paths[path+"/"] = true
		}
	}
	p := c.Backend.Policy()
	for _, prefix := range slices.Concat(p.Allow, p.Deny) {
		b.edges[prefix.Masked().Addr()] = true
		if next := last(prefix).Next(); next.IsValid() {
			b.edges[next] = true
		}
	}
	if k := p.Canary; k != nil {
		for i := range k.Rules {
			if h, ok := meets(&k.Rules[i]); ok {
				b.with[h] = canarySample{path, conditionText(&k.Rules[i])}
			}
		}
	}
}

// meets returns a header with which a request meets a rule of a canary; ok is false for
// expressions, for which none can be made.
func meets(r *model.CanaryRule) (h Header, ok bool) {
	value := cmp.Or(r.Value, "x")
	switch r.Source {
	case model.CanaryHeader:
		h = Header{r.Name, value}
	case model.CanaryCookie:
		h = Header{"Cookie", r.Name + "=" + value}
	case model.CanaryQuery:
		h = Header{"?", r.Name + "=" + value}
	}
	return h, r.Compare != model.CanaryRegex
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}

// spans cuts all addresses at the borders of lists. Without lists there is one, of no address.
func (b *borders) spans() []span {
	if len(b.edges) == 0 {
		return []span{{}}
	}
	b.edges[netip.IPv4Unspecified()], b.edges[netip.IPv6Unspecified()] = true, true
	edges := slices.SortedFunc(maps.Keys(b.edges), netip.Addr.Compare)
	var all []span
	for i, first := range edges {
		end := last(netip.PrefixFrom(first, 0))
		if i+1 < len(edges) && edges[i+1].BitLen() == first.BitLen() {
			end = edges[i+1].Prev()
		}
		all = append(all, span{first, end})
	}
	return all[:min(len(all), mostSpans)]
}

// classes lists those of one host.
func (b *borders) classes(host, sample string) (all []class) {
	paths, requests, spans := b.ends(), b.requests(), b.spans()
	for i := range spans {
		for _, c := range requests {
			for _, secure := range []bool{true, false} {
				c.host, c.borders, c.client, c.spans = host, paths, i, spans
				c.request.Secure, c.request.Host, c.request.ClientIP, c.request.SNI = secure, sample, spans[i].first, ""
				if secure {
					c.request.SNI = sample
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// requests lists the classes of one client and one scheme.
func (b *borders) requests() (all []class) {
	add := func(c class, path string) {
		c.request.Path = path
		all = append(all, c)
	}
	for _, path := range slices.Sorted(maps.Keys(b.paths)) {
		add(class{path: path}, path)
		if !b.paths[path+"/"] {
			add(class{path: path, below: true}, strings.TrimSuffix(path, "/")+"/"+otherSegment)
		}
	}
	add(class{odd: true}, oddPath)
	for _, e := range slices.Sorted(maps.Keys(b.written)) {
		add(class{written: e}, "/")
	}
	for _, h := range slices.SortedFunc(maps.Keys(b.with), func(a, b Header) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	}) {
		c := class{path: b.with[h].path, with: b.with[h].words}
		if c.request.Headers = []Header{h}; h.Name == "?" {
			c.request.Headers, c.request.Query = nil, "?"+h.Value
		}
		add(c, c.path)
	}
	return all
}
