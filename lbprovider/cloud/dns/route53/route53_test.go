package route53

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

const ownerText = `"heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/default-wildcard"`

// bed is a fake AWS with zones and a load balancer; the real SDK talks to it.
type bed struct {
	*fakeaws.Cloud
	provider *Provider
	target   string // the load balancer's name
}

func newBed(t *testing.T) bed {
	t.Helper()
	return newBedWith(t, fakeaws.Options{})
}

func newBedWith(t *testing.T, o fakeaws.Options) bed {
	t.Helper()
	cloud := fakeaws.New(o)
	cloud.Zones3()
	cloud.AddZone("ZPUBLIC", "example.com.", false, map[string]string{"cluster": "c1"})
	cloud.AddZone("ZPRIVATE", "example.com.", true, map[string]string{"cluster": "c1", "kind": "private"})
	cloud.AddZone("ZCHILD", "child.example.com.", false, nil)
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cfg, err := aws.Config(t.Context(), aws.Access{Region: "eu-central-1", Endpoint: server.URL, MaxBackoff: time.Millisecond, Speed: 1000, MaxAttempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	out, err := elb.NewFromConfig(cfg).CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
		Name: new("router"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: []string{"subnet-a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bed{Cloud: cloud, provider: New(Options{Public: cfg, Private: cfg, Gather: -1}), target: *out.LoadBalancers[0].DNSName}
}

func record(t hook.RecordType, targets ...string) *hook.Record {
	return &hook.Record{
		Name: "*.apps.example.com.", Type: t, Targets: targets, TTL: 30,
		Owner: "fairlead-c1", Resource: "dnsrecord/ns/default-wildcard",
	}
}

func (b bed) want(t *testing.T, zone string, want ...fakeaws.Record) {
	t.Helper()
	if diff := cmp.Diff(want, b.Records(zone)); diff != "" {
		t.Errorf("zone %s: (-want +got)\n%s", zone, diff)
	}
}

func owner(kind string) fakeaws.Record {
	return fakeaws.Record{Name: kind + "-wild.apps.example.com.", Type: "TXT", TTL: 300, Values: []string{ownerText}}
}

func (b bed) alias(kind string) fakeaws.Record {
	return fakeaws.Record{Name: "*.apps.example.com.", Type: kind, AliasZone: fakeaws.HostedZone, AliasName: strings.ToLower(b.target) + "."}
}

func TestRecordLife(t *testing.T) {
	b := newBed(t)
	zone, err := b.provider.ResolveZone(t.Context(), hook.ZoneSelector{ID: "/hostedzone/ZPUBLIC"})
	if err != nil {
		t.Fatal(err)
	}
	ensure := func(r *hook.Record, changed bool, want ...fakeaws.Record) {
		t.Helper()
		got, err := b.provider.EnsureRecord(t.Context(), r, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got.Changed != changed {
			t.Errorf("changed is %v, want %v", got.Changed, changed)
		}
		b.want(t, "ZPUBLIC", want...)
	}
	alias := record(hook.RecordCNAME, b.target)
	alias.TargetZone = fakeaws.HostedZone
	ensure(alias, true, b.alias("A"), owner("cname"))
	ensure(alias, false, b.alias("A"), owner("cname"))
	alias.DualStack = true
	ensure(alias, true, b.alias("A"), b.alias("AAAA"), owner("aaaa"), owner("cname"))

	plain := fakeaws.Record{Name: "*.apps.example.com.", Type: "CNAME", TTL: 30, Values: []string{"lb.example.net."}}
	ensure(record(hook.RecordCNAME, "lb.example.net"), true, plain, owner("cname"))
	address := fakeaws.Record{Name: "*.apps.example.com.", Type: "A", TTL: 30, Values: []string{"198.18.0.1", "198.18.0.2"}}
	ensure(record(hook.RecordA, "198.18.0.1", "198.18.0.2"), true, address, owner("a"))
	ensure(record(hook.RecordA, "198.18.0.2", "198.18.0.1"), false, address, owner("a"))
	for range 2 {
		if err := b.provider.DeleteRecord(t.Context(), record(hook.RecordA, "198.18.0.1"), zone); err != nil {
			t.Fatal(err)
		}
		b.want(t, "ZPUBLIC")
	}
}

func TestRecordsOfOthersStay(t *testing.T) {
	b := newBed(t)
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	theirs := fakeaws.Record{Name: "*.apps.example.com.", Type: "CNAME", TTL: 60, Values: []string{"elsewhere.example.net."}}
	b.PutRecord("ZPUBLIC", theirs)
	r := record(hook.RecordA, "198.18.0.1")
	_, err := b.provider.EnsureRecord(t.Context(), r, zone)
	if hook.ClassOf(err) != hook.ClassConflict || !strings.Contains(err.Error(), "elsewhere.example.net.") {
		t.Errorf("got %v", err)
	}
	if err := b.provider.DeleteRecord(t.Context(), r, zone); err != nil {
		t.Error(err)
	}
	b.want(t, "ZPUBLIC", theirs)

	r.Adopt = true
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	b.want(t, "ZPUBLIC", fakeaws.Record{Name: "*.apps.example.com.", Type: "A", TTL: 30, Values: []string{"198.18.0.1"}}, owner("a"))
}

func TestZones(t *testing.T) {
	b := newBed(t)
	for _, test := range []struct {
		name     string
		selector hook.ZoneSelector
		want     string
		class    hook.Class
	}{
		{"by id", hook.ZoneSelector{ID: "ZPRIVATE", Private: true}, "ZPRIVATE", ""},
		{"no such id", hook.ZoneSelector{ID: "ZNONE"}, "", hook.ClassNotFound},
		{"by tags", hook.ZoneSelector{Tags: map[string]string{"cluster": "c1", "kind": "private"}}, "ZPRIVATE", ""},
		{"tags of two", hook.ZoneSelector{Tags: map[string]string{"cluster": "c1"}}, "", hook.ClassInvalidConfig},
		{"tags of none", hook.ZoneSelector{Tags: map[string]string{"cluster": "c2"}}, "", hook.ClassInvalidConfig},
		{"by name", hook.ZoneSelector{Suffix: "*.apps.example.com."}, "ZPUBLIC", ""},
		{"by name, private", hook.ZoneSelector{Suffix: "*.child.example.com.", Private: true}, "ZPRIVATE", ""},
		{"by name, longest", hook.ZoneSelector{Suffix: "*.child.example.com."}, "ZCHILD", ""},
		{"by name, none", hook.ZoneSelector{Suffix: "*.apps.example.org."}, "", hook.ClassInvalidConfig},
	} {
		t.Run(test.name, func(t *testing.T) {
			zone, err := b.provider.ResolveZone(t.Context(), test.selector)
			if got := hook.ClassOf(err); got != test.class || zone.ID != test.want {
				t.Errorf("got %+v, %v", zone, err)
			}
		})
	}
}

// TestManyZones: tags are asked for in pieces that Route 53 takes.
func TestManyZones(t *testing.T) {
	b := newBed(t)
	for i := range 25 {
		b.AddZone(fmt.Sprintf("ZMANY%02d", i), "example.org.", false, map[string]string{"number": strconv.Itoa(i)})
	}
	for _, number := range []string{"0", "9", "10", "24"} {
		zone, err := b.provider.ResolveZone(t.Context(), hook.ZoneSelector{Tags: map[string]string{"number": number}})
		if err != nil || !strings.HasSuffix("0"+number, strings.TrimPrefix(zone.ID, "ZMANY")) {
			t.Errorf("zone number %s is %+v, %v", number, zone, err)
		}
	}
}

func TestFailures(t *testing.T) {
	b := newBed(t)
	change := func(e fakeaws.Effect) *fakeaws.Fault {
		return &fakeaws.Fault{Service: "route53", Action: "ChangeResourceRecordSets", Effect: e}
	}
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	for _, test := range []struct {
		name   string
		zone   hook.Zone
		record *hook.Record
		fault  *fakeaws.Fault
		class  hook.Class
	}{
		{"zone is gone", hook.Zone{ID: "ZNONE", Name: "example.com."}, record(hook.RecordA, "198.18.0.1"), nil, hook.ClassNotFound},
		{"not in the zone", hook.Zone{ID: "ZCHILD", Name: "child.example.com."}, record(hook.RecordA, "198.18.0.1"), nil, hook.ClassInvalidConfig},
		{"throttled", zone, record(hook.RecordA, "198.18.0.1"), &fakeaws.Fault{Service: "route53", Action: "ChangeResourceRecordSets", Effect: fakeaws.Throttle()}, hook.ClassThrottled},
		{"another change is under way", zone, record(hook.RecordA, "198.18.0.1"), change(fakeaws.Refuse(400, "PriorRequestNotComplete", "wait")), hook.ClassBusy},
		{"no input", zone, record(hook.RecordA, "198.18.0.1"), change(fakeaws.Refuse(400, "InvalidInput", "no")), hook.ClassInvalidConfig},
		{"zone is full", zone, record(hook.RecordA, "198.18.0.1"), change(fakeaws.Refuse(400, "LimitsExceeded", "no")), hook.ClassQuota},
		{"denied", zone, record(hook.RecordA, "198.18.0.1"), &fakeaws.Fault{Service: "route53", Action: "*", Effect: fakeaws.Refuse(403, "AccessDenied", "not allowed")}, hook.ClassDenied},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.fault != nil {
				b.Script(*test.fault)
				defer b.Heal()
			}
			_, err := b.provider.EnsureRecord(t.Context(), test.record, test.zone)
			if got := hook.ClassOf(err); got != test.class {
				t.Errorf("got %s: %v", got, err)
			}
		})
	}
	b.want(t, "ZPUBLIC")
	if err := b.provider.DeleteRecord(t.Context(), record(hook.RecordA, "198.18.0.1"), hook.Zone{ID: "ZNONE", Name: "example.com."}); err != nil {
		t.Errorf("a zone that is gone has no names: %v", err)
	}
}

func TestTargetZone(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"router-0123456789abcdef.elb.us-east-1.amazonaws.com":      "Z26RNL4JYFTOTI",
		"Router-0123456789abcdef.ELB.eu-central-1.amazonaws.com.":  "Z3F0SRJ5LGBH90",
		"internal-router-12345.us-west-2.elb.amazonaws.com":        "Z1H1FL5HABSF5",
		"router-0123456789abcdef.elb.ap-southeast-5.amazonaws.com": "Z026317210H9ACVTRO6FB",
		"router-0123456789abcdef.elb.cn-north-1.amazonaws.com.cn":  "Z3QFB96KMJ7ED6",
		"router-12345.cn-northwest-1.elb.amazonaws.com.cn":         "ZM7IZAIOVVDZF",
		"router-12345.us-gov-east-1.elb.amazonaws.com":             "Z166TLBEWOO7G0",
		"dualstack.router-12345.eu-south-2.elb.amazonaws.com":      "Z0956581394HF5D5LXGAP",
		"router.elb.cn-north-1.amazonaws.com":                      "",
		"router.elb.eu-west-1.amazonaws.com.cn":                    "",
		"router.elb.nowhere-1.amazonaws.com":                       "",
		"lb.example.net":                                           "",
		"elb.amazonaws.com":                                        "",
		"ec2-198-18-0-1.eu-central-1.compute.amazonaws.com":        "",
		"router-0123.elb.us-east-1.amazonaws.com.evil.example.com": "",
	} {
		if got := targetZone(target); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

// TestRegions: every zone has the shape that AWS's ids have, and none stands
// for two.
func TestRegions(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^Z[0-9A-Z]{11,20}$`)
	region := regexp.MustCompile(`^(af|ap|ca|cn|eu|il|me|mx|sa|us|us-gov)-(central|north|south|east|west|northeast|northwest|southeast|southwest)-[1-9]$`)
	seen := map[string]string{}
	for name, zones := range regions() {
		if !region.MatchString(name) {
			t.Errorf("%q is no name of a region", name)
		}
		for _, zone := range []string{zones.network, zones.other} {
			if !id.MatchString(zone) {
				t.Errorf("%s: %q is no zone id", name, zone)
			}
			if seen[zone] != "" {
				t.Errorf("%s and %s have the zone %s", name, seen[zone], zone)
			}
			seen[zone] = name
		}
	}
	for _, name := range []string{"us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1"} {
		if regions()[name] == (regional{}) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestUnknownRegion: without the zone of a load balancer the record is a plain
// one, and users hear of it.
func TestUnknownRegion(t *testing.T) {
	b := newBed(t)
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	const target = "router-0123.elb.xx-nowhere-1.amazonaws.com."
	got, err := b.provider.EnsureRecord(t.Context(), record(hook.RecordCNAME, target), zone)
	if err != nil || !strings.Contains(got.Message, "elasticloadbalancing:DescribeLoadBalancers") {
		t.Errorf("got %+v, %v", got, err)
	}
	b.want(t, "ZPUBLIC", fakeaws.Record{Name: "*.apps.example.com.", Type: "CNAME", TTL: 30, Values: []string{target}}, owner("cname"))
}

// TestLookUp: the zone of a load balancer in a region that we do not know is
// asked for, if that is allowed.
func TestLookUp(t *testing.T) {
	b := newBedWith(t, fakeaws.Options{Region: "xx-nowhere-1"})
	if region, network := balancer(b.target); region != "xx-nowhere-1" || !network || targetZone(b.target) != "" {
		t.Fatalf("%s: %s, %v", b.target, region, network)
	}
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	r := record(hook.RecordCNAME, strings.ToUpper(b.target))
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	b.want(t, "ZPUBLIC", b.alias("A"), owner("cname"))

	b.Script(fakeaws.Fault{Service: "elasticloadbalancing", Action: "DescribeLoadBalancers", Effect: fakeaws.Refuse(403, "AccessDenied", "no")})
	r.Name = "*.other.example.com."
	if got, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil || !strings.Contains(got.Message, "DescribeLoadBalancers") {
		t.Errorf("without the right: %+v, %v", got, err)
	}
}
