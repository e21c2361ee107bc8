package policy

import (
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestTrace: what policies say of traces, and that they say nothing where the router has no collector.
func TestTrace(t *testing.T) {
	t.Parallel()
	on, off := true, false
	router := model.Tracing{On: true, Parent: true, Sampled: 10_000}
	for name, test := range map[string]struct {
		group *v1alpha1.Tracing
		want  model.Tracing
	}{
		"no group":          {nil, router},
		"an empty one":      {&v1alpha1.Tracing{}, router},
		"enabled":           {&v1alpha1.Tracing{Enabled: &on}, router},
		"not enabled":       {&v1alpha1.Tracing{Enabled: &off, TrustIncoming: &on, Sampling: "100%"}, model.Tracing{}},
		"trusted":           {&v1alpha1.Tracing{TrustIncoming: &on}, model.Tracing{On: true, Trust: true, Parent: true, Sampled: 10_000}},
		"as parents":        {&v1alpha1.Tracing{TrustIncoming: &on, Sampling: "Parent"}, model.Tracing{On: true, Trust: true, Parent: true, Sampled: 10_000}},
		"a share":           {&v1alpha1.Tracing{Sampling: "5%"}, model.Tracing{On: true, Sampled: 50_000}},
		"a small share":     {&v1alpha1.Tracing{Sampling: "0.0001%"}, model.Tracing{On: true, Sampled: 1}},
		"all":               {&v1alpha1.Tracing{Sampling: "100%"}, model.Tracing{On: true, Sampled: model.AllSampled}},
		"none":              {&v1alpha1.Tracing{Sampling: "0%"}, model.Tracing{On: true}},
		"too much":          {&v1alpha1.Tracing{Sampling: "101%"}, router},
		"no share":          {&v1alpha1.Tracing{Sampling: "NaN%"}, router},
		"a separator":       {&v1alpha1.Tracing{Sampling: "5%|"}, router},
		"a line of HAProxy": {&v1alpha1.Tracing{Sampling: "5%\n"}, router},
	} {
		if got := Trace(test.group, router); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if got := Trace(test.group, model.Tracing{}); got != (model.Tracing{}) {
			t.Errorf("%s: %+v without a collector", name, got)
		}
		wrong := test.group != nil && test.want == router && test.group.Sampling != ""
		if problems := compileTracing(test.group); (len(problems) == 1) != wrong || wrong && problems[0].Closes {
			t.Errorf("%s: %+v", name, problems)
		}
		lacks := test.group != nil && (test.group.Enabled == nil || *test.group.Enabled)
		if Untraced(test.group, router) != "" || (Untraced(test.group, model.Tracing{}) != "") != lacks {
			t.Errorf("%s: %q", name, Untraced(test.group, model.Tracing{}))
		}
	}
	trusting := model.Tracing{On: true, Trust: true, Parent: true}
	if got := Trace(&v1alpha1.Tracing{TrustIncoming: &off}, trusting); got.Trust {
		t.Errorf("%+v", got)
	}
}
