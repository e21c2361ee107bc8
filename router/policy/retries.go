package policy

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group retries.
const (
	AnnotationRetries = "fairlead.dev/retries"
	AnnotationRetryOn = "fairlead.dev/retry-on"
)

// The values of retries.when.
const (
	retryOnConnection = "Connection"
	retryOnFailure    = "Failure"
)

// retriesRow and retryOnRow are the annotations' rows in the table.
var retriesRow = Annotation{
	Key: AnnotationRetries, Group: GroupRetries, Terminations: http, Default: "3", Values: "0, 1 or 3",
	Doc: "How often a request is tried again at another server.",
	set: setRetries,
}

var retryOnRow = Annotation{
	Key: AnnotationRetryOn, Group: GroupRetries, Terminations: http, Default: "connection", Values: "connection or failure",
	Doc: "When a request is tried again: if there is no connection, or also if the pod ends it, does not answer in time, or answers 502, 503 or 504 (requests that may be done twice).",
	set: setRetryOn,
}

// compileRetries sets whether requests of all methods are tried again; the rest is
// fixed for a backend (Spec.Retry).
func compileRetries(r *v1alpha1.Retries, p *model.Policy) []Problem {
	if r == nil {
		return nil
	}
	p.RetryAll = false
	class, field, err := readRetries(r)
	if err != nil {
		return []Problem{{Key: "retries." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effectDefault}}
	}
	p.RetryAll = r.NonIdempotent && class.OnFailure()
	return nil
}

// readRetries also returns the field that is wrong.
func readRetries(r *v1alpha1.Retries) (model.Retry, string, error) {
	attempts := int32(3)
	if r.Attempts != nil {
		attempts = *r.Attempts
	}
	on := cmp.Or(r.When, retryOnConnection)
	switch {
	case attempts != 0 && attempts != 1 && attempts != 3:
		return model.RetryUsual, "attempts", errors.New("must be 0, 1 or 3")
	case on != retryOnConnection && on != retryOnFailure:
		return model.RetryUsual, "when", errors.New("must be Connection or Failure")
	case attempts == 0 && on == retryOnFailure:
		return model.RetryUsual, "attempts", errors.New("must be 1 or 3 with when: Failure")
	case attempts == 0:
		return model.RetryNever, "", nil
	case attempts == 1 && on == retryOnFailure:
		return model.RetryFailureOnce, "", nil
	case attempts == 1:
		return model.RetryOnce, "", nil
	case on == retryOnFailure:
		return model.RetryFailureThree, "", nil
	}
	return model.RetryUsual, "", nil
}

// Retry is when and how often requests are tried again.
func (s *Spec) Retry() model.Retry {
	if s.Groups.Retries == nil {
		return model.RetryUsual
	}
	class, _, err := readRetries(s.Groups.Retries)
	if err != nil {
		return model.RetryUsual
	}
	return class
}

// changeRetries changes a copy of the group, because Specs share groups.
func (s *Spec) changeRetries(change func(*v1alpha1.Retries)) error {
	var r v1alpha1.Retries
	if s.Groups.Retries != nil {
		r = *s.Groups.Retries
	}
	change(&r)
	if _, _, err := readRetries(&r); err != nil {
		return err
	}
	s.Groups.Retries = &r
	return nil
}

func setRetries(s *Spec, v string) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return errors.New("must be 0, 1 or 3")
	}
	attempts := int32(n)
	return s.changeRetries(func(r *v1alpha1.Retries) { r.Attempts = &attempts })
}

func setRetryOn(s *Spec, v string) error {
	on := map[string]string{"connection": retryOnConnection, "failure": retryOnFailure}[strings.ToLower(v)]
	if on == "" {
		return errors.New("must be connection or failure")
	}
	return s.changeRetries(func(r *v1alpha1.Retries) { r.When = on })
}
