package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the groups maintenance and log.
const (
	AnnotationMaintenance = "fairlead.dev/maintenance"
	AnnotationAccessLog   = "fairlead.dev/access-log"
)

// maxExempt and maxRetryAfter bound the group maintenance.
const maxExempt, maxRetryAfter = 100, 7 * 24 * 60 * 60

// compileMaintenance sets the group maintenance of a policy. An address that cannot
// be read is not exempt.
func compileMaintenance(m *v1alpha1.Maintenance, p *model.Policy) []Problem {
	if m == nil {
		return nil
	}
	if p.Maintenance = nil; !m.Enabled {
		return nil
	}
	var problems []Problem
	find := func(field, message, effect string) {
		problems = append(problems, Problem{Key: "maintenance." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effect})
	}
	out := &model.Maintenance{RetryAfter: int(m.RetryAfter)}
	if out.RetryAfter < 0 || out.RetryAfter > maxRetryAfter {
		find("retryAfter", fmt.Sprintf("must be from 1 to %d", maxRetryAfter), "no Retry-After is sent")
		out.RetryAfter = 0
	}
	if m.Until != nil {
		if out.Until = m.Until.Unix(); out.Until <= 0 {
			find("until", "must be a time after 1970", "it does not end by itself")
			out.Until = 0
		}
	}
	for i, item := range m.Exempt {
		prefix, ok := parsePrefix(string(item))
		if !ok || i >= maxExempt {
			find(fmt.Sprintf("exempt[%d]", i), notAddress(string(item)), "it exempts no client")
			continue
		}
		out.Exempt = append(out.Exempt, prefix)
	}
	p.Maintenance = out
	return problems
}

// compileLog sets the group log of a policy.
func compileLog(l *v1alpha1.RequestLog, p *model.Policy) []Problem {
	if l == nil {
		return nil
	}
	var problems []Problem
	find := func(field, message, effect string) {
		problems = append(problems, Problem{Key: "log." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effect})
	}
	switch p.RequestID = model.RequestID(l.RequestID); p.RequestID {
	case model.RequestIDNone, model.RequestIDKeep, model.RequestIDReplace:
	default:
		find("requestID", "must be Keep or Replace", "no header is made")
		p.RequestID = model.RequestIDNone
	}
	p.Unlogged = 0
	switch {
	case l.Enabled != nil && !*l.Enabled:
		p.Unlogged = 100
	case l.Percent == nil:
	case *l.Percent < 0 || *l.Percent > 100:
		find("percent", "must be from 0 to 100", "all requests are logged")
	default:
		p.Unlogged = 100 - int(*l.Percent)
	}
	return problems
}

func setMaintenance(s *Spec, v string) error {
	if until, err := time.Parse(time.RFC3339, v); err == nil && until.Unix() > 0 {
		s.Groups.Maintenance = &v1alpha1.Maintenance{Enabled: true, Until: &metav1.Time{Time: until}}
		return nil
	}
	enabled, err := parseBool(v)
	if err != nil {
		return errors.New("must be true, false, or when it ends, such as 2027-01-31T06:00:00Z")
	}
	s.Groups.Maintenance = &v1alpha1.Maintenance{Enabled: enabled}
	return nil
}

var percentText = regexp.MustCompile(`^[0-9]{1,3}%$`)

func setAccessLog(s *Spec, v string) error {
	if percentText.MatchString(v) {
		if n, err := strconv.ParseInt(strings.TrimSuffix(v, "%"), 10, 32); err == nil && n <= 100 {
			percent := int32(n)
			s.Groups.Log = &v1alpha1.RequestLog{Percent: &percent}
			return nil
		}
	}
	enabled, err := parseBool(v)
	if err != nil {
		return errors.New("must be true, false, or a percentage such as 10%")
	}
	s.Groups.Log = &v1alpha1.RequestLog{Enabled: &enabled}
	return nil
}
