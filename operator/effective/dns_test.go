package effective

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

func TestNotOurName(t *testing.T) {
	t.Parallel()
	of := func(base string) *configv1.DNSSpec { return &configv1.DNSSpec{BaseDomain: base} }
	for _, test := range []struct {
		name    string
		domain  string
		options Defaults
		cluster *configv1.DNSSpec
		want    string // part of the reason, empty if the name is ours
	}{
		{"below", "apps.c1.example.com", Defaults{DNS: true}, of("c1.example.com"), ""},
		{"the base domain itself", "c1.example.com", Defaults{DNS: true}, of("c1.example.com."), ""},
		{"letters and dots", "apps.C1.example.com.", Defaults{DNS: true}, of(".c1.Example.com"), ""},
		{"outside", "apps.example.org", Defaults{DNS: true}, of("c1.example.com"), "does not lie in c1.example.com, which dns.config"},
		{"only looks like it", "apps.xc1.example.com", Defaults{DNS: true}, of("c1.example.com"), "does not lie in"},
		{"no base domain", "apps.example.com", Defaults{DNS: true}, of(""), "has no baseDomain"},
		{"no such object", "apps.example.com", Defaults{DNS: true}, nil, ""},
		{"nobody publishes anyway", "apps.example.org", Defaults{}, of("c1.example.com"), ""},
		{"zones are named", "apps.example.org", Defaults{DNS: true, DNSZones: true}, of("c1.example.com"), ""},
		{"by flag", "apps.example.org", Defaults{DNS: true, DNSZones: true, DNSBaseDomain: "example.com"}, nil, "--dns-base-domain"},
		{"by flag, below", "apps.example.com", Defaults{DNS: true, DNSBaseDomain: "example.com"}, of("example.org"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := notOurName(test.domain, test.options, test.cluster)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
