package policy

import (
	"cmp"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group timeouts, beside those of OpenShift.
const (
	AnnotationConnectTimeout = "fairlead.dev/connect-timeout"
	AnnotationIdleTimeout    = "fairlead.dev/idle-timeout"
)

// compileTimeouts sets the timeouts of a policy. They protect nothing, so one that
// cannot be read is the default.
func compileTimeouts(t *v1alpha1.Timeouts, p *model.Policy) []Problem {
	if t == nil {
		return nil
	}
	p.Timeouts = model.Timeouts{}
	var problems []Problem
	for _, f := range []struct {
		name string
		text v1alpha1.Timeout
		to   *time.Duration
	}{
		{"connect", t.Connect, &p.Timeouts.Connect},
		{"response", t.Response, &p.Timeouts.Server},
		{"idle", t.Idle, &p.Timeouts.Idle},
		{"tunnel", t.Tunnel, &p.Timeouts.Tunnel},
		{"queue", t.Queue, &p.Timeouts.Queue},
	} {
		if f.text == "" {
			continue
		}
		d, err := api.ParseTime(string(f.text))
		if err != nil {
			problems = append(problems, Problem{
				Key: "timeouts." + f.name, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effectDefault,
			})
			continue
		}
		*f.to = d
	}
	return problems
}

// PassthroughIdle is how long a passthrough connection may be idle, or zero for the
// router's default.
func (s *Spec) PassthroughIdle() time.Duration {
	var p model.Policy
	compileTimeouts(s.Groups.Timeouts, &p)
	return cmp.Or(p.Timeouts.Tunnel, p.Timeouts.Server)
}

// withoutPassthroughTimeouts are the fields that a passthrough connection has no use
// for: HAProxy changes no other timeout of one.
func withoutPassthroughTimeouts(t *v1alpha1.Timeouts) []string {
	var fields []string
	for _, f := range []struct {
		name string
		text v1alpha1.Timeout
	}{{"connect", t.Connect}, {"idle", t.Idle}, {"queue", t.Queue}} {
		if f.text != "" {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// setTimeout reads a time for a field of the group, as the annotation writes it.
func setTimeout(field func(*v1alpha1.Timeouts) *v1alpha1.Timeout) func(*Spec, string) error {
	return func(s *Spec, v string) error {
		if _, err := api.ParseTime(v); err != nil {
			return err
		}
		// A copy, because Specs share groups.
		var t v1alpha1.Timeouts
		if s.Groups.Timeouts != nil {
			t = *s.Groups.Timeouts
		}
		*field(&t) = v1alpha1.Timeout(v)
		s.Groups.Timeouts = &t
		return nil
	}
}
