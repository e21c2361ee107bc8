package route53

import (
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// setOf reads a set as Route 53 writes it.
func setOf(s types.ResourceRecordSet) dns.RRSet {
	set := dns.RRSet{Name: dns.Name(sdk.ToString(s.Name)), Type: hook.RecordType(s.Type), TTL: sdk.ToInt64(s.TTL)}
	if a := s.AliasTarget; a != nil {
		set.Alias = &dns.Alias{Zone: sdk.ToString(a.HostedZoneId), Target: dns.Name(sdk.ToString(a.DNSName))}
	}
	for _, r := range s.ResourceRecords {
		v := sdk.ToString(r.Value)
		if set.Type == dns.TypeTXT {
			v = dns.Unquote(v)
		}
		if set.Type == hook.RecordCNAME {
			v = dns.Name(v)
		}
		set.Values = append(set.Values, v)
	}
	return set
}

// recordSet is a set as Route 53 takes it.
func recordSet(s dns.RRSet) *types.ResourceRecordSet {
	out := &types.ResourceRecordSet{Name: &s.Name, Type: types.RRType(s.Type)}
	if s.Alias != nil {
		out.AliasTarget = &types.AliasTarget{HostedZoneId: &s.Alias.Zone, DNSName: &s.Alias.Target}
		return out
	}
	out.TTL = &s.TTL
	for _, v := range s.Values {
		if s.Type == dns.TypeTXT {
			v = strconv.Quote(v)
		}
		out.ResourceRecords = append(out.ResourceRecords, types.ResourceRecord{Value: &v})
	}
	return out
}

// change is one of a batch.
func change(action types.ChangeAction, s dns.RRSet) types.Change {
	return types.Change{Action: action, ResourceRecordSet: recordSet(s)}
}
