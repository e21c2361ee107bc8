package externaldnsprovider

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// endpoint is a set as the protocol has it: names without a dot at their end,
// texts in quotes.
type endpoint struct {
	DNSName       string            `json:"dnsName"`
	Targets       []string          `json:"targets"`
	RecordType    string            `json:"recordType"`
	SetIdentifier string            `json:"setIdentifier,omitempty"`
	RecordTTL     int64             `json:"recordTTL,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	// ProviderSpecific is what the provider added to our wish, and gets back.
	ProviderSpecific json.RawMessage `json:"providerSpecific,omitempty"`
}

// changes is the body of a change.
type changes struct {
	Create    []endpoint `json:"create"`
	UpdateOld []endpoint `json:"updateOld"`
	UpdateNew []endpoint `json:"updateNew"`
	Delete    []endpoint `json:"delete"`
}

// endpointsOf returns sets as endpoints, with what the provider added to those
// of the same name and type.
func endpointsOf(sets []dns.RRSet, adjusted []endpoint) []endpoint {
	list := make([]endpoint, 0, len(sets))
	for _, s := range sets {
		e := endpoint{DNSName: strings.TrimSuffix(s.Name, "."), RecordType: string(s.Type), RecordTTL: s.TTL}
		for _, v := range s.Values {
			if s.Type == dns.TypeTXT {
				v = strconv.Quote(v)
			}
			e.Targets = append(e.Targets, strings.TrimSuffix(v, "."))
		}
		i := slices.IndexFunc(adjusted, func(a endpoint) bool { return a.DNSName == e.DNSName && a.RecordType == e.RecordType })
		if i >= 0 {
			e.ProviderSpecific = adjusted[i].ProviderSpecific
		}
		list = append(list, e)
	}
	return list
}

// setsOf returns endpoints as sets. Several answers of one name, distinguished by
// an identifier, are not what a load balancer's name has; they are left alone.
func setsOf(list []endpoint) []dns.RRSet {
	var sets []dns.RRSet
	for _, e := range list {
		if e.SetIdentifier != "" {
			continue
		}
		s := dns.RRSet{Name: dns.Name(e.DNSName), Type: hook.RecordType(e.RecordType), TTL: e.RecordTTL}
		for _, v := range e.Targets {
			switch s.Type {
			case dns.TypeTXT:
				v = dns.Unquote(v)
			case hook.RecordCNAME:
				v = dns.Name(v)
			default:
			}
			s.Values = append(s.Values, v)
		}
		sets = append(sets, s)
	}
	return sets
}
