package route53

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// home notes where a request goes to and answers it with a zone.
type home struct{ host, region string }

func (h *home) Do(r *http.Request) (*http.Response, error) {
	scope := strings.Split(r.Header.Get("Authorization"), "/") // …Credential=KEY/DATE/REGION/SERVICE/aws4_request
	h.host, h.region = r.URL.Host, scope[2]
	const answer = `<GetHostedZoneResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><HostedZone><Id>/hostedzone/Z1</Id><Name>example.com.</Name><CallerReference>x</CallerReference></HostedZone></GetHostedZoneResponse>`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// TestPartitions: Route 53 has one home in each partition of AWS, wherever in
// it the cluster is, and only GovCloud has no aliases for load balancers.
func TestPartitions(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, test := range []struct {
		region, host, home, target string
		alias                      string // its zone; empty if the record is a CNAME
	}{
		{"eu-central-1", "route53.amazonaws.com", "us-east-1", "r-0123.elb.eu-central-1.amazonaws.com", "Z3F0SRJ5LGBH90"},
		{"cn-north-1", "route53.amazonaws.com.cn", "cn-northwest-1", "r-0123.elb.cn-north-1.amazonaws.com.cn", "Z3QFB96KMJ7ED6"},
		{"us-gov-east-1", "route53.us-gov.amazonaws.com", "us-gov-west-1", "r-0123.elb.us-gov-east-1.amazonaws.com", ""},
		{"eusc-de-east-1", "route53.amazonaws.eu", "eusc-de-east-1", "r-0123.elb.eusc-de-east-1.amazonaws.eu", ""},
	} {
		t.Run(test.region, func(t *testing.T) {
			cfg, err := aws.Config(t.Context(), aws.Access{Region: test.region})
			if err != nil {
				t.Fatal(err)
			}
			asked := &home{}
			cfg.HTTPClient = asked
			p := New(Options{Public: cfg, Private: cfg})
			if _, err := p.ResolveZone(t.Context(), hook.ZoneSelector{ID: "Z1"}); err != nil {
				t.Fatal(err)
			}
			if asked.host != test.host || asked.region != test.home {
				t.Errorf("asked %s, signed for %s; want %s, %s", asked.host, asked.region, test.host, test.home)
			}
			sets := p.sets(t.Context(), record(hook.RecordCNAME, test.target))
			got := ""
			if sets[0].Alias != nil {
				got = sets[0].Alias.Zone
			}
			if got != test.alias || got == "" && (sets[0].Type != hook.RecordCNAME || sets[0].TTL != 30) {
				t.Errorf("%+v, want an alias in %q", sets, test.alias)
			}
		})
	}
}

// TestGovCloudCannotAliasTheTop: a CNAME cannot stand at the top of a zone.
func TestGovCloudCannotAliasTheTop(t *testing.T) {
	b := newBed(t)
	b.provider.region = "us-gov-west-1"
	b.provider.registry = dns.Registry{Prefix: "%{record_type}-owner."}
	r := record(hook.RecordCNAME, "r-0123.elb.us-gov-west-1.amazonaws.com")
	r.Name, r.TargetZone = "example.com.", "ZMG1MZ2THAWF1"
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); hook.ClassOf(err) != hook.ClassInvalidConfig || !strings.Contains(err.Error(), "top of zone") {
		t.Errorf("got %v", err)
	}
	r.Name = "*.apps.example.com."
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	if got := b.Records("ZPUBLIC"); len(got) != 2 || got[0].Type != "CNAME" || got[0].TTL != 30 {
		t.Errorf("records %+v", got)
	}
}
