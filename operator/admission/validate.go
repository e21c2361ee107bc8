// Package admission decides whether an IngressController can be used. Pure.
package admission

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/status"
	router "github.com/fairlead/fairlead/router/settings"
)

// Validate returns what makes an IngressController unusable: what the routers
// would refuse as well, and what only shows beside the remaining
// IngressControllers of the cluster, the others.
func Validate(ic *operatorv1.IngressController, s effective.Spec, others []operatorv1.IngressController) []api.Finding {
	var faults []api.Finding
	fault := func(field, format string, args ...any) {
		faults = append(faults, refusal(ic, field, fmt.Sprintf(format, args...)))
	}
	if s.Domain == "" {
		fault("spec.domain", "domain is required, because the operator was started without --domain")
	}
	for _, o := range others {
		if o.Name != ic.Name && s.Domain != "" && o.Status.Domain == s.Domain && status.Admitted(o.Status.Conditions) {
			faults = append(faults, DomainTaken(ic, s.Domain, o.Name))
		}
	}
	if ic.Spec.HAProxyVersion != "" {
		if f := effective.HaproxyFault(s); f != "" {
			fault("spec.haproxyVersion", "%s", f)
		}
	}
	return append(faults, router.Refusal(ic)...)
}

// DomainTaken refuses an IngressController whose domain another one holds.
func DomainTaken(ic *operatorv1.IngressController, domain, holder string) api.Finding {
	return refusal(ic, "spec.domain", fmt.Sprintf("conflicts with: %s, which has the domain %s already", holder, domain))
}

func refusal(ic *operatorv1.IngressController, field, message string) api.Finding {
	return api.Finding{
		Object: effective.Ref(ic), Field: field, Reason: api.ReasonInvalid, Message: message,
		Severity: api.SeverityError, Effect: "no change of the IngressController is applied",
	}
}
