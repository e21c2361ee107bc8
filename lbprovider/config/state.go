package config

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// Consumer is who works from a configuration.
type Consumer string

// The consumers, as ConfigurationState objects label them.
const (
	// Controller gives addresses, so only pools matter to it.
	Controller Consumer = "controller"
	// Speaker announces on one node.
	Speaker Consumer = "speaker"
)

// summaryLimit bounds what a ConfigurationState lists, in bytes.
const summaryLimit = 4000

// Invalid says whether some object is not used as it is written.
func Invalid(findings []api.Finding) bool {
	return slices.ContainsFunc(findings, func(f api.Finding) bool { return f.Severity == api.SeverityError })
}

// State sums up the findings for the ConfigurationState of a consumer. Times of
// transition are not set.
func State(c Consumer, findings []api.Finding) v1beta1.ConfigurationStateStatus {
	condition := metav1.Condition{Type: v1beta1.ConditionConfig, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReconciled}
	if c == Controller {
		condition.Type = v1beta1.ConditionPools
	}
	status := v1beta1.ConfigurationStateStatus{Result: v1beta1.ConfigurationValid}
	var lines, notes []string
	for _, f := range findings {
		if c == Controller && f.Object.Kind != "IPAddressPool" {
			continue
		}
		if f.Severity != api.SeverityError {
			// What is used otherwise than it is written makes nothing invalid.
			notes = append(notes, f.Object.String()+": "+f.Text())
			continue
		}
		lines = append(lines, f.Object.String()+": "+f.Text())
		// What must be corrected is listed before what may come by itself.
		if condition.Status == metav1.ConditionTrue || f.Reason != api.ReasonMissingReference {
			condition.Reason = v1beta1.ReasonConfigurationError
			if f.Reason == api.ReasonMissingReference {
				condition.Reason = v1beta1.ReasonMissingReference
			}
		}
		condition.Status, status.Result = metav1.ConditionFalse, v1beta1.ConfigurationInvalid
	}
	status.ErrorSummary = capped(lines)
	condition.Message = capped(append(lines, notes...))
	status.Conditions = []metav1.Condition{condition}
	return status
}

// Told returns what a ConfigurationState, made by State, says is wrong with a
// field of an object; nothing if it says nothing.
func Told(s *v1beta1.ConfigurationStateStatus, object api.ObjectRef, field string) string {
	for line := range strings.Lines(s.ErrorSummary) {
		if text, ok := strings.CutPrefix(line, object.String()+": "+field+": "); ok {
			return strings.TrimSuffix(text, "\n")
		}
	}
	return ""
}

// capped joins the lines and bounds what comes of it.
func capped(lines []string) string {
	text := strings.Join(lines, "\n")
	if len(text) > summaryLimit {
		text = strings.ToValidUTF8(text[:summaryLimit], "") + "…"
	}
	return text
}
