package operator

import (
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	router "github.com/fairlead/fairlead/router/settings"
)

// validate returns what makes an IngressController unusable: what the routers
// would refuse as well, and what only shows beside the remaining
// IngressControllers of the cluster, the others.
func validate(ic *operatorv1.IngressController, s settings, others []operatorv1.IngressController) []api.Finding {
	var faults []api.Finding
	fault := func(field, format string, args ...any) {
		faults = append(faults, refusal(ic, field, fmt.Sprintf(format, args...)))
	}
	if s.domain == "" {
		fault("spec.domain", "domain is required, because the operator was started without --domain")
	}
	for _, o := range others {
		if o.Name != ic.Name && s.domain != "" && o.Status.Domain == s.domain && admitted(o.Status.Conditions) {
			faults = append(faults, domainTaken(ic, s.domain, o.Name))
		}
	}
	if ic.Spec.HAProxyVersion != "" {
		if f := haproxyFault(s); f != "" {
			fault("spec.haproxyVersion", "%s", f)
		}
	}
	return append(faults, router.Refusal(ic)...)
}

func domainTaken(ic *operatorv1.IngressController, domain, holder string) api.Finding {
	return refusal(ic, "spec.domain", fmt.Sprintf("conflicts with: %s, which has the domain %s already", holder, domain))
}

func refusal(ic *operatorv1.IngressController, field, message string) api.Finding {
	return api.Finding{
		Object: icRef(ic), Field: field, Reason: api.ReasonInvalid, Message: message,
		Severity: api.SeverityError, Effect: "no change of the IngressController is applied",
	}
}

func admitted(conditions []operatorv1.OperatorCondition) bool {
	c := findCondition(conditions, conditionAdmitted)
	return c != nil && c.Status == operatorv1.ConditionTrue
}

func icRef(ic *operatorv1.IngressController) api.ObjectRef {
	return api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: ic.Namespace, Name: ic.Name}
}

// messages joins the texts of findings into one sentence for a condition.
func messages(findings []api.Finding) string {
	texts := make([]string, 0, len(findings))
	for _, f := range findings {
		texts = append(texts, f.Text())
	}
	return strings.Join(texts, "; ")
}
