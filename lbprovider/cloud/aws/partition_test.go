package aws_test

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestPartitions: other partitions of AWS have other names for everything, and
// nothing else is different.
func TestPartitions(t *testing.T) {
	for _, c := range []struct{ region, partition, domain string }{
		{"cn-north-1", "aws-cn", ".cn-north-1.amazonaws.com.cn"},
		{"us-gov-west-1", "aws-us-gov", ".us-gov-west-1.amazonaws.com"},
		{"us-iso-east-1", "aws-iso", ".us-iso-east-1.c2s.ic.gov"},
	} {
		for _, kind := range kinds() {
			t.Run(c.region+", "+kind, func(t *testing.T) {
				b := newBed(t, fakeaws.Options{Region: c.region})
				spec := b.specOf(kind, 4)
				spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] = "arn:" + c.partition + ":wafv2:" + c.region + ":123456789012:regional/webacl/edge/1"
				if kind == network {
					delete(spec.Annotations, "fairlead.dev/aws-wafv2-acl-arn")
					spec.Annotations[prefix+"ssl-cert"], spec.Annotations[prefix+"ssl-ports"] = b.cloud.AddCertificate("www.example.com"), "https"
				}
				r := b.ensure(spec)
				domain := c.domain
				if kind == application { // "name.region.elb.domain" in place of "name.elb.region.domain"
					domain = strings.Replace(c.domain, "."+c.region+".", "."+c.region+".elb.", 1)
				}
				if !strings.HasPrefix(r.Handle, "arn:"+c.partition+":") || len(r.Ingress) != 1 || !strings.HasSuffix(r.Ingress[0].Hostname, domain) {
					t.Errorf("result %+v", r)
				}
				b.restart()
				if got := b.changes(func() { b.ensure(spec) }); len(got) > 0 {
					t.Errorf("a restart changed %v", got)
				}
				b.delete(spec.Ref)
				b.checkEmpty()
			})
		}
	}
}
