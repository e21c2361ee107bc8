package rfc2136

import (
	"net/netip"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// setOf returns the records of a name and type in an answer.
func setOf(name string, t uint16, answer []mdns.RR) (dns.RRSet, bool) {
	set := dns.RRSet{Name: dns.Name(name), Type: hook.RecordType(mdns.TypeToString[t])}
	for _, rr := range answer {
		h := rr.Header()
		if h.Rrtype != t || dns.Name(h.Name) != set.Name {
			continue
		}
		set.TTL = int64(h.Ttl)
		switch rr := rr.(type) {
		case *mdns.A:
			set.Values = append(set.Values, rr.A.String())
		case *mdns.AAAA:
			set.Values = append(set.Values, rr.AAAA.String())
		case *mdns.CNAME:
			set.Values = append(set.Values, dns.Name(rr.Target))
		case *mdns.TXT:
			set.Values = append(set.Values, strings.Join(rr.Txt, ""))
		}
	}
	return set, len(set.Values) > 0
}

// records returns the records of a set. A target that is none of its type is
// left out; the API server has checked them.
func records(s dns.RRSet) []mdns.RR {
	var list []mdns.RR
	for _, v := range s.Values {
		h := mdns.RR_Header{Name: s.Name, Class: mdns.ClassINET, Ttl: uint32(s.TTL)}
		switch s.Type {
		case hook.RecordA, hook.RecordAAAA:
			addr, err := netip.ParseAddr(v)
			if err != nil || addr.Is4() != (s.Type == hook.RecordA) {
				continue
			}
			if addr.Is4() {
				h.Rrtype = mdns.TypeA
				list = append(list, &mdns.A{Hdr: h, A: addr.AsSlice()})
				continue
			}
			h.Rrtype = mdns.TypeAAAA
			list = append(list, &mdns.AAAA{Hdr: h, AAAA: addr.AsSlice()})
		case hook.RecordCNAME:
			h.Rrtype = mdns.TypeCNAME
			list = append(list, &mdns.CNAME{Hdr: h, Target: v})
		case dns.TypeTXT:
			h.Rrtype = mdns.TypeTXT
			list = append(list, &mdns.TXT{Hdr: h, Txt: pieces(v)})
		}
	}
	return list
}

// pieces cuts a text into strings of at most 255 bytes (RFC 1035, section 3.3).
func pieces(text string) []string {
	const limit = 255
	var list []string
	for len(text) > limit {
		list = append(list, text[:limit])
		text = text[limit:]
	}
	return append(list, text)
}

// update returns the message that makes a change if the sets that it touches
// still are as they were read.
func update(zone string, have []dns.RRSet, c dns.Change) *mdns.Msg {
	m := new(mdns.Msg).SetUpdate(zone)
	for _, s := range c.Create {
		// Without its data, a record stands for its name and type.
		m.RRsetNotUsed([]mdns.RR{nameAndType(s)})
		// A server ignores an address beside a CNAME without a word (RFC
		// 2136, section 3.4.2.2), so it is asked to refuse.
		for _, t := range dns.Clashes(s.Type) {
			other := dns.RRSet{Name: s.Name, Type: t}
			if !slices.ContainsFunc(c.Delete, func(d dns.RRSet) bool { return d.Name == s.Name && d.Type == t }) {
				m.RRsetNotUsed([]mdns.RR{nameAndType(other)})
			}
		}
	}
	old := func(s dns.RRSet) {
		for _, h := range have {
			if h.Name == s.Name && h.Type == s.Type {
				m.Used(records(h))
			}
		}
	}
	for _, s := range c.Update {
		old(s)
	}
	for _, s := range c.Delete {
		old(s)
	}
	for _, s := range c.Delete {
		m.RemoveRRset([]mdns.RR{nameAndType(s)})
	}
	for _, s := range c.Update {
		m.RemoveRRset([]mdns.RR{nameAndType(s)})
		m.Insert(records(s))
	}
	for _, s := range c.Create {
		m.Insert(records(s))
	}
	return m
}

func nameAndType(s dns.RRSet) mdns.RR {
	return &mdns.ANY{Hdr: mdns.RR_Header{Name: s.Name, Rrtype: mdns.StringToType[string(s.Type)], Class: mdns.ClassINET}}
}
