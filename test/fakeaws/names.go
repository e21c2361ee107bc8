package fakeaws

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// Names answers DNS queries as the resolver of the VPC does: for the names of
// load balancers, and for what stands in the Route 53 zones.
type Names struct {
	Cloud *Cloud
	// Address returns the address of a load balancer, if it has one.
	Address func(name string) (netip.Addr, bool)
}

// ServeDNS answers one query.
func (n *Names) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	answer := new(dns.Msg)
	answer.SetReply(q)
	answer.Authoritative = true
	for _, question := range q.Question {
		answer.Answer = append(answer.Answer, n.resolve(strings.ToLower(question.Name), question.Name, question.Qtype, 0)...)
	}
	if len(answer.Answer) == 0 {
		answer.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(answer) // who asks may be gone
}

// maxChase is how many names lead on to each other.
const maxChase = 4

// resolve answers for a name. The answer is given for shown, which is what was
// asked.
func (n *Names) resolve(name, shown string, kind uint16, depth int) []dns.RR {
	if depth > maxChase {
		return nil
	}
	for _, b := range n.Cloud.Balancers() {
		if absolute(b.DNSName) != strings.TrimPrefix(name, "dualstack.") {
			continue
		}
		addr, ok := n.Address(b.Name)
		if !ok || kind != dns.TypeA {
			return nil
		}
		return []dns.RR{&dns.A{Hdr: header(shown, dns.TypeA, 1), A: addr.AsSlice()}}
	}
	for _, r := range n.Cloud.find(name) {
		switch {
		case r.AliasName != "" && dns.StringToType[r.Type] == kind:
			return n.resolve(r.AliasName, shown, kind, depth+1)
		case r.Type == "CNAME" && len(r.Values) > 0:
			to := absolute(r.Values[0])
			cname := &dns.CNAME{Hdr: header(shown, dns.TypeCNAME, uint32(r.TTL)), Target: to}
			return append([]dns.RR{cname}, n.resolve(to, to, kind, depth+1)...)
		case r.Type == "A" && kind == dns.TypeA:
			return addressRecords(shown, r)
		}
	}
	return nil
}

func addressRecords(shown string, r Record) []dns.RR {
	var list []dns.RR
	for _, v := range r.Values {
		if addr, err := netip.ParseAddr(v); err == nil {
			list = append(list, &dns.A{Hdr: header(shown, dns.TypeA, uint32(r.TTL)), A: addr.AsSlice()})
		}
	}
	return list
}

func header(name string, kind uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// find returns the records of a name in all zones, by itself or by a wildcard.
func (c *Cloud) find(name string) []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, rest, _ := strings.Cut(name, ".")
	for _, wanted := range []string{name, "*." + rest} {
		var found []Record
		for _, z := range sortedValues(c.state.Zones) {
			for _, r := range z.Records {
				if r.Name == wanted && r.Type != "TXT" {
					found = append(found, Record(r))
				}
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
