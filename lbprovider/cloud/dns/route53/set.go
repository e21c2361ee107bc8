package route53

import (
	"strconv"
	"strings"

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

// targetZone returns the zone id of an AWS load balancer's name, by its region
// (AWS General Reference, Elastic Load Balancing endpoints and quotas), or ""
// for other names. Names of network load balancers have the region behind
// "elb.", others before ".elb.".
func targetZone(target string) string {
	name := strings.TrimSuffix(dns.Name(target), ".")
	name, ours := strings.CutSuffix(name, ".amazonaws.com")
	if !ours {
		return ""
	}
	labels := strings.Split(name, ".")
	if len(labels) < 3 {
		return ""
	}
	if labels[len(labels)-2] == "elb" {
		return networkZones()[labels[len(labels)-1]]
	}
	if labels[len(labels)-1] == "elb" {
		return otherZones()[labels[len(labels)-2]]
	}
	return ""
}

func networkZones() map[string]string {
	return map[string]string{
		"us-east-1": "Z26RNL4JYFTOTI", "us-east-2": "ZLMOA37VPKANP", "us-west-1": "Z24FKFUX50B4VW", "us-west-2": "Z18D5FSROUN65G",
		"eu-west-1": "Z2IFOLAFXWLO4F", "eu-central-1": "Z3F0SRJ5LGBH90", "ap-southeast-1": "ZKVM4W9LS7TM", "ap-northeast-1": "Z31USIVHYNEOWT",
	}
}

func otherZones() map[string]string {
	return map[string]string{
		"us-east-1": "Z35SXDOTRQ7X7K", "us-east-2": "Z3AADJGX6KTTL2", "us-west-1": "Z368ELLRRE2KJ0", "us-west-2": "Z1H1FL5HABSF5",
		"eu-west-1": "Z32O12XQLNTSW2", "eu-central-1": "Z215JYRZR1TBD5", "ap-southeast-1": "Z1LMS91P8CMLE5", "ap-northeast-1": "Z14GRHDCWA56QT",
	}
}
