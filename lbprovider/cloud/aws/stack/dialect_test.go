package stack

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// TestDialect: what is asked for can be read, by this package too; a webhook's
// Service without parameters has its scheme only.
func TestDialect(t *testing.T) {
	t.Parallel()
	var aws, webhook hook.Dialect = Dialect{}, Dialect{AnyPlatform: true}
	if aws.Platform() != "AWS" || webhook.Platform() != "" {
		t.Errorf("platforms %q and %q", aws.Platform(), webhook.Platform())
	}
	wish := hook.Wish{
		Scheme: hook.SchemeInternal, ProxyProtocol: true, Allocations: []string{"eipalloc-1"}, Subnets: []string{"subnet-1", "two"},
		SecurityGroups: []string{"sg-1", "sg-2"}, IdleTimeout: 90*time.Second + 400*time.Millisecond,
	}
	annotations := aws.Annotations(wish)
	s, problems := Read(annotations)
	if len(problems) > 0 || s.IdleTimeout != 90 || !slices.Equal(s.Subnets, wish.Subnets) {
		t.Errorf("%+v, %v", s, problems)
	}
	if f := aws.Front(annotations); f.EndsTLS || f.Reuses != 0 || !slices.Equal(f.SecurityGroups, wish.SecurityGroups) {
		t.Errorf("front %+v", f)
	}
	if a := webhook.Annotations(wish); len(a) != 1 || a[balancerPrefix+"internal"] != "true" {
		t.Errorf("a webhook's: %v", a)
	}
	wish.Detailed = true
	if a := webhook.Annotations(wish); len(a) != len(annotations) {
		t.Errorf("a webhook's, with parameters: %v", a)
	}
}

// TestFrontEndsTLS: a certificate matters on the port of HTTPS only.
func TestFrontEndsTLS(t *testing.T) {
	t.Parallel()
	for ports, want := range map[string]bool{"": true, "http": false, "https": true, "http,443": true, "*": true} {
		a := map[string]string{balancerPrefix + "ssl-cert": "arn", balancerPrefix + "ssl-ports": ports}
		if got := (Dialect{}).Front(a).EndsTLS; got != want {
			t.Errorf("ssl-ports %q: %v", ports, got)
		}
		delete(a, balancerPrefix+"ssl-cert")
		if (Dialect{}).Front(a).EndsTLS {
			t.Errorf("ssl-ports %q without a certificate ends TLS", ports)
		}
	}
	if f := (Dialect{}).Front(map[string]string{balancerPrefix + "type": "alb"}); !f.EndsTLS || f.Reuses != time.Minute {
		t.Errorf("an application load balancer: %+v", f)
	}
}
