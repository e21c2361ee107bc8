package dns

import (
	"fmt"
	"net/netip"
	"strings"

	iov1 "github.com/openshift/api/operatoringress/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// recordOf returns what a DNSRecord asks for.
func recordOf(d *iov1.DNSRecord, owner string) *hook.Record {
	name := d.Spec.DNSName
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	return &hook.Record{
		Name:       strings.ToLower(name),
		Type:       hook.RecordType(d.Spec.RecordType),
		Targets:    d.Spec.Targets,
		TTL:        d.Spec.RecordTTL,
		TargetZone: d.Annotations[api.AnnotationTargetZone],
		DualStack:  d.Annotations[api.AnnotationTargetDualStack] == "true",
		Owner:      owner,
		Resource:   "dnsrecord/" + d.Namespace + "/" + d.Name,
		Adopt:      d.Annotations[api.AnnotationAdoptDNSRecord] == "true",
	}
}

// check returns what is wrong with a record, or "".
func check(r *hook.Record) string {
	name := strings.TrimSuffix(strings.TrimPrefix(r.Name, "*."), ".")
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Sprintf("spec.dnsName: %q is no DNS name: %s", r.Name, problems[0])
	}
	if r.Type == hook.RecordCNAME && len(r.Targets) != 1 {
		return fmt.Sprintf("spec.targets: a CNAME record has one target, not %d", len(r.Targets))
	}
	for i, t := range r.Targets {
		field := fmt.Sprintf("spec.targets[%d]", i)
		addr, err := netip.ParseAddr(t)
		switch r.Type {
		case hook.RecordA:
			if err != nil || !addr.Is4() {
				return fmt.Sprintf("%s: %q is no IPv4 address, as records of type A have it", field, t)
			}
		case hook.RecordAAAA:
			if err != nil || !addr.Is6() || addr.Zone() != "" {
				return fmt.Sprintf("%s: %q is no IPv6 address, as records of type AAAA have it", field, t)
			}
		case hook.RecordCNAME:
			if problems := validation.IsDNS1123Subdomain(strings.TrimSuffix(strings.ToLower(t), ".")); len(problems) > 0 {
				return fmt.Sprintf("%s: %q is no DNS name: %s", field, t, problems[0])
			}
		}
	}
	return ""
}
