package policy_test

import (
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		retries, on string
		want        model.Retry
		wrong       int
	}{
		{"", "", model.RetryUsual, 0},
		{"3", "", model.RetryUsual, 0},
		{"0", "", model.RetryNever, 0},
		{"1", "connection", model.RetryOnce, 0},
		{"1", "failure", model.RetryFailureOnce, 0},
		{"", "failure", model.RetryFailureThree, 0},
		{"0", "failure", model.RetryNever, 1},
		{"2", "failure", model.RetryFailureThree, 1},
		{"-1", "often", model.RetryUsual, 2},
		{"1x", "", model.RetryUsual, 1},
	} {
		annotations := map[string]string{}
		if tt.retries != "" {
			annotations[policy.AnnotationRetries] = tt.retries
		}
		if tt.on != "" {
			annotations[policy.AnnotationRetryOn] = tt.on
		}
		s, problems := policy.Read(annotations, policy.Spec{CookieSameSite: "None"}, model.Plain, false)
		if got := s.Retry(); got != tt.want || len(problems) != tt.wrong {
			t.Errorf("%v: %d, %v; want %d", annotations, got, problems, tt.want)
		}
	}
}

func TestRetriesPolicy(t *testing.T) {
	t.Parallel()
	n := func(i int32) *int32 { return &i }
	for field, r := range map[string]*v1alpha1.Retries{
		"retries.attempts": {Attempts: n(0), When: "Failure"},
		"retries.when":     {When: "Never"},
	} {
		var p model.Policy
		if problems := policy.Compile(&v1alpha1.PolicySpec{Retries: r}, &p); len(problems) != 1 || problems[0].Key != field || problems[0].Closes {
			t.Errorf("%s: %+v", field, problems)
		}
	}
	for want, r := range map[bool]*v1alpha1.Retries{true: {When: "Failure", NonIdempotent: true}, false: {When: "Connection", NonIdempotent: true}} {
		var p model.Policy
		if policy.Compile(&v1alpha1.PolicySpec{Retries: r}, &p); p.RetryAll != want {
			t.Errorf("%+v: all methods %v", r, p.RetryAll)
		}
	}
}
