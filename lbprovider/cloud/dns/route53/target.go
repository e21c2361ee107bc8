package route53

import (
	"context"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
)

// regional are the zones of the load balancers of a region.
type regional struct {
	// network is that of network load balancers, other that of application and
	// classic ones.
	network, other string
}

// targetZone returns the zone id of an AWS load balancer's name, by its region,
// or "" for other names. It serves if AWS was not asked, because another
// controller made the load balancer; our own reports what DescribeLoadBalancers
// said.
func targetZone(target string) string {
	region, network := balancer(target)
	if network {
		return regions()[region].network
	}
	return regions()[region].other
}

// isBalancer reports whether a name looks like that of an AWS load balancer.
func isBalancer(target string) bool {
	region, _ := balancer(target)
	return region != ""
}

// balancer reads the name of an AWS load balancer; the region is empty for other
// names. Names of network load balancers have the region behind "elb.", others
// before ".elb.".
func balancer(target string) (region string, network bool) {
	name := strings.TrimSuffix(dns.Name(target), ".")
	for suffix, partition := range map[string]string{".amazonaws.com": "", ".amazonaws.com.cn": "cn-", ".amazonaws.eu": "eusc-"} {
		rest, ok := strings.CutSuffix(name, suffix)
		labels := strings.Split(rest, ".")
		if !ok || len(labels) < 3 {
			continue
		}
		last, before := labels[len(labels)-1], labels[len(labels)-2]
		switch {
		case last == "elb":
			region = before
		case before == "elb":
			region, network = last, true
		}
		if partition == "" && !strings.HasPrefix(region, "cn-") || partition != "" && strings.HasPrefix(region, partition) {
			return region, network
		}
	}
	return "", false
}

// lookUp asks AWS for the zone of a load balancer in a region that is newer than
// this program, and whether it has IPv6 addresses. Without an answer, or without
// the right to ask, the zone is empty.
func (p *Provider) lookUp(ctx context.Context, target string) (zone string, dualStack bool) {
	region, _ := balancer(target)
	if region == "" {
		return "", false
	}
	client := elb.NewFromConfig(p.config, func(o *elb.Options) { o.Region = region })
	pages := elb.NewDescribeLoadBalancersPaginator(client, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", false
		}
		for _, b := range page.LoadBalancers {
			if dns.SameAlias(sdk.ToString(b.DNSName), target) {
				return sdk.ToString(b.CanonicalHostedZoneId), b.IpAddressType == elbtypes.IpAddressTypeDualstack
			}
		}
	}
	return "", false
}

// regions are the zones of AWS's regions (AWS General Reference, Elastic Load
// Balancing endpoints and quotas).
func regions() map[string]regional {
	return map[string]regional{
		"af-south-1":     {"Z203XCE67M25HM", "Z268VQBMOI5EKX"},
		"ap-east-1":      {"Z12Y7K3UBGUAD1", "Z3DQVH9N71FHZ0"},
		"ap-east-2":      {"Z09176273OC2HWIAUNYW", "Z02789141MW7T1WBU19PO"},
		"ap-northeast-1": {"Z31USIVHYNEOWT", "Z14GRHDCWA56QT"},
		"ap-northeast-2": {"ZIBE1TIR4HY56", "ZWKZPGTI48KDX"},
		"ap-northeast-3": {"Z1GWIQ4HH19I5X", "Z5LXEXXYW11ES"},
		"ap-south-1":     {"ZVDDRBQ08TROA", "ZP97RAFLXTNZK"},
		"ap-south-2":     {"Z0711778386UTO08407HT", "Z0173938T07WNTVAEPZN"},
		"ap-southeast-1": {"ZKVM4W9LS7TM", "Z1LMS91P8CMLE5"},
		"ap-southeast-2": {"ZCT6FZBF4DROD", "Z1GM3OXH4ZPM65"},
		"ap-southeast-3": {"Z01971771FYVNCOVWJU1G", "Z08888821HLRG5A9ZRTER"},
		"ap-southeast-4": {"Z01156963G8MIIL7X90IV", "Z09517862IB2WZLPXG76F"},
		"ap-southeast-5": {"Z026317210H9ACVTRO6FB", "Z06010284QMVVW7WO5J"},
		"ap-southeast-6": {"Z01392953RKV2Q3RBP0KU", "Z023301818UFJ50CIO0MV"},
		"ap-southeast-7": {"Z054363131YWATEMWRG5L", "Z0390008CMBRTHFGWBCB"},
		"ca-central-1":   {"Z2EPGBW3API2WT", "ZQSVJUPU6J1EY"},
		"ca-west-1":      {"Z02754302KBB00W2LKWZ9", "Z06473681N0SF6OS049SD"},
		"cn-north-1":     {"Z3QFB96KMJ7ED6", "Z1GDH35T77C1KE"},
		"cn-northwest-1": {"ZQEIKTCZ8352D", "ZM7IZAIOVVDZF"},
		"eu-central-1":   {"Z3F0SRJ5LGBH90", "Z215JYRZR1TBD5"},
		"eu-central-2":   {"Z02239872DOALSIDCX66S", "Z06391101F2ZOEP8P5EB3"},
		"eu-north-1":     {"Z1UDT6IFJ4EJM", "Z23TAZ6LKFMNIO"},
		"eu-south-1":     {"Z23146JA1KNAFP", "Z3ULH7SSC9OV64"},
		"eu-south-2":     {"Z1011216NVTVYADP1SSV", "Z0956581394HF5D5LXGAP"},
		"eu-west-1":      {"Z2IFOLAFXWLO4F", "Z32O12XQLNTSW2"},
		"eu-west-2":      {"ZD4D7Y8KGAS4G", "ZHURV8PSTC4K8"},
		"eu-west-3":      {"Z1CMS0P5QUZ6D5", "Z3Q77PNBQS71R4"},
		"il-central-1":   {"Z0313266YDI6ZRHTGQY4", "Z09170902867EHPV2DABU"},
		"me-central-1":   {"Z00282643NTTLPANJJG2P", "Z08230872XQRWHG2XF6I"},
		"me-south-1":     {"Z3QSRYVP46NYYV", "ZS929ML54UICD"},
		"mx-central-1":   {"Z02031231H3ID6HYJ9A7U", "Z023552324OKD1BB28BH5"},
		"sa-east-1":      {"ZTK26PT1VY4CU", "Z2P70J7HTTTPLU"},
		"us-east-1":      {"Z26RNL4JYFTOTI", "Z35SXDOTRQ7X7K"},
		"us-east-2":      {"ZLMOA37VPKANP", "Z3AADJGX6KTTL2"},
		"us-gov-east-1":  {"Z1ZSMQQ6Q24QQ8", "Z166TLBEWOO7G0"},
		"us-gov-west-1":  {"ZMG1MZ2THAWF1", "Z33AYJ8TM3BH4J"},
		"us-west-1":      {"Z24FKFUX50B4VW", "Z368ELLRRE2KJ0"},
		"us-west-2":      {"Z18D5FSROUN65G", "Z1H1FL5HABSF5"},
	}
}
