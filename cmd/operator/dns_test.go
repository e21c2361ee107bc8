package main

import (
	"flag"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

func dnsFlags(t *testing.T, args ...string) *dnsOptions {
	t.Helper()
	d := &dnsOptions{}
	f := flag.NewFlagSet("operator", flag.ContinueOnError)
	d.flags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPrivateZoneRole: private zones are written as the role, public ones are
// not.
func TestPrivateZoneRole(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "own")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cloud := fakeaws.New(fakeaws.Options{})
	cloud.AddZone("ZPUBLIC", "example.com.", false, nil)
	cloud.AddZone("ZPRIVATE", "example.com.", true, nil)
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	const role = "arn:aws:iam::111122223333:role/private-zones"
	d := dnsFlags(t, "--dns=route53", "--dns-private-zone=ZPRIVATE", "--dns-zone=ZPUBLIC", "--dns-private-zone-role="+role)
	o, err := d.options(t.Context(), &rest.Config{}, aws.Access{Region: "eu-central-1", Endpoint: server.URL, MaxBackoff: time.Millisecond, Speed: 1000}, "c1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range o.Zones {
		zone, err := o.Hook.ResolveZone(t.Context(), hook.ZoneSelector{ID: z.ID, Private: z.Private})
		if err != nil {
			t.Fatal(err)
		}
		r := &hook.Record{Name: "*.apps.example.com.", Type: hook.RecordA, Targets: []string{"198.18.0.1"}, TTL: 30, Owner: o.Owner, Resource: "dnsrecord/ns/n"}
		if _, err := o.Hook.EnsureRecord(t.Context(), r, zone); err != nil {
			t.Fatal(err)
		}
	}
	signed := map[string]int{}
	for _, c := range cloud.Since(0) {
		switch c.Action {
		case "AssumeRole":
			if got := c.Params["RoleArn"]; got != role || c.AccessKey != "own" {
				t.Errorf("%s assumes %s", c.AccessKey, got)
			}
		case "ChangeResourceRecordSets":
			signed[c.AccessKey]++
		}
	}
	if signed["own"] != 1 || signed["ASIATEST"] != 1 {
		t.Errorf("changes by %v, want one by each", signed)
	}
}

func TestDNSOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, cluster string
		args          []string
		owner         string
		err           string // part of the error, empty for none
	}{
		{"nothing", "", nil, "fairlead", ""},
		{"of a cloud's cluster", "c1", nil, "fairlead-c1", ""},
		{"owner", "c1", []string{"--dns-owner=me"}, "me", ""},
		{"no registry", "", []string{"--dns=rfc2136", "--rfc2136-server=198.18.0.53", "--dns-registry=none"}, "fairlead", ""},
		{"affix", "", []string{"--dns=rfc2136", "--rfc2136-server=198.18.0.53", "--dns-txt-prefix=%{record_type}-owner.", "--dns-txt-wildcard=any"}, "fairlead", ""},
		{"unknown registry", "", []string{"--dns-registry=dynamodb"}, "", "neither txt nor none"},
		{"two affixes", "", []string{"--dns-txt-prefix=a", "--dns-txt-suffix=b"}, "", "exclude each other"},
		{"longest TTL", "", []string{"--dns-ttl=24h"}, "fairlead", ""},
		{"TTL too long", "", []string{"--dns-ttl=25h"}, "", "--dns-ttl: 25h0m0s is not"},
		{"no TTL", "", []string{"--dns-ttl=0"}, "", "--dns-ttl"},
		{"TTL with a fraction", "", []string{"--dns-ttl=1500ms"}, "", "--dns-ttl: 1.5s is not"},
		{"unknown provider", "", []string{"--dns=bind"}, "", `unknown DNS provider "bind"`},
		{"no server", "", []string{"--dns=rfc2136"}, "", "--rfc2136-server"},
		{"no key", "", []string{"--dns=rfc2136", "--rfc2136-server=x", "--rfc2136-key=/nonexistent"}, "", "--rfc2136-key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, err := dnsFlags(t, test.args...).options(t.Context(), &rest.Config{}, aws.Access{}, test.cluster, nil)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got %v, want %q", err, test.err)
			}
			if err == nil && o.Owner != test.owner {
				t.Errorf("owner %q, want %q", o.Owner, test.owner)
			}
		})
	}
}
