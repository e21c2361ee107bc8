package operator

import (
	"fmt"
	"regexp"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// validate returns what makes an IngressController unusable. The others are
// the remaining IngressControllers of the cluster.
func validate(ic *operatorv1.IngressController, s settings, others []operatorv1.IngressController) []api.Finding {
	var faults []api.Finding
	fault := func(field, format string, args ...any) {
		faults = append(faults, api.Finding{
			Object:   icRef(ic),
			Field:    field,
			Reason:   api.ReasonInvalid,
			Message:  fmt.Sprintf(format, args...),
			Severity: api.SeverityError,
			Effect:   "no change of the IngressController is applied",
		})
	}
	if s.domain == "" {
		fault("spec.domain", "domain is required, because the operator was started without --domain")
	}
	for _, o := range others {
		if o.Name != ic.Name && s.domain != "" && o.Status.Domain == s.domain && admitted(o.Status.Conditions) {
			fault("spec.domain", "conflicts with: %s, which has the domain %s already", o.Name, s.domain)
		}
	}
	validateStrategy(s, fault)
	if p := ic.Spec.NodePlacement; p != nil && p.NodeSelector != nil && len(p.NodeSelector.MatchExpressions) > 0 {
		fault("spec.nodePlacement.nodeSelector.matchExpressions", "only matchLabels can be used")
	}
	validateTuning(ic.Spec.TuningOptions, fault)
	for i, p := range ic.Spec.ClientTLS.AllowedSubjectPatterns {
		if _, err := regexp.Compile(p); err != nil {
			fault(fmt.Sprintf("spec.clientTLS.allowedSubjectPatterns[%d]", i), "failed to parse the pattern: %v", err)
		}
	}
	return faults
}

func validateStrategy(s settings, fault func(field, format string, args ...any)) {
	p := s.ports
	if p.http == p.https || p.http == p.stats || p.https == p.stats {
		fault("spec.endpointPublishingStrategy.hostNetwork",
			"the ports must differ: httpPort %d, httpsPort %d, statsPort %d", p.http, p.https, p.stats)
	}
}

// Sizes that HAProxy gets where spec.tuningOptions has none.
const (
	defaultHeaderBufferBytes           = 32768
	defaultHeaderBufferMaxRewriteBytes = 8192
)

func validateTuning(t operatorv1.IngressControllerTuningOptions, fault func(field, format string, args ...any)) {
	if t.HeaderBufferBytes == 0 && t.HeaderBufferMaxRewriteBytes == 0 {
		return
	}
	buffer := orDefault(t.HeaderBufferBytes, defaultHeaderBufferBytes)
	rewrite := orDefault(t.HeaderBufferMaxRewriteBytes, defaultHeaderBufferMaxRewriteBytes)
	if buffer <= rewrite {
		fault("spec.tuningOptions.headerBufferBytes",
			"headerBufferBytes (%d) must be greater than headerBufferMaxRewriteBytes (%d)", buffer, rewrite)
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
