package policy

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// SamplingParent is the default of tracing.sampling.
const SamplingParent = "Parent"

var samplingText = regexp.MustCompile(`^(100|[0-9]{1,2}(\.[0-9]{1,4})?)%$`)

// compileTracing finds what cannot be read. Trace says what it means for a router.
func compileTracing(t *v1alpha1.Tracing) []Problem {
	if t == nil {
		return nil
	}
	if _, _, err := sampling(t); err != nil {
		return []Problem{{Key: "tracing.sampling", Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effectDefault}}
	}
	return nil
}

// sampling reads the field: parent, or a share of a million.
func sampling(t *v1alpha1.Tracing) (share int32, parent bool, err error) {
	if t.Sampling == "" || t.Sampling == SamplingParent {
		return 0, true, nil
	}
	text, _ := strings.CutSuffix(t.Sampling, "%")
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !samplingText.MatchString(t.Sampling) {
		return 0, true, errors.New("must be Parent, or a percentage such as 5% or 0.1%")
	}
	return int32(percent*model.AllSampled/100 + 0.5), false, nil
}

// Trace returns how the requests of a route are traced that has this group, or nil, where the
// router says the rest. Its zero value traces nothing.
func Trace(t *v1alpha1.Tracing, router model.Tracing) model.Tracing {
	if t == nil || !router.On {
		return router
	}
	if t.Enabled != nil && !*t.Enabled {
		return model.Tracing{}
	}
	if share, parent, err := sampling(t); err == nil && !parent {
		router.Sampled, router.Parent = share, false
	}
	if t.TrustIncoming != nil {
		router.Trust = *t.TrustIncoming
	}
	return router
}

// Untraced is why the group has no effect with a router, or empty.
func Untraced(t *v1alpha1.Tracing, router model.Tracing) string {
	if router.On || t == nil || t.Enabled != nil && !*t.Enabled {
		return ""
	}
	return api.AnnotationTracing + " of the IngressController does not say where traces are sent"
}

// EffectUntraced is what happens then.
const EffectUntraced = "requests are not traced"
