package policy

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestFault: what a fault becomes, and what of it cannot be used; a wrong one does nothing.
func TestFault(t *testing.T) {
	t.Parallel()
	percent := func(n int32) *int32 { return &n }
	condition := v1alpha1.FaultCondition{Type: "Header", Name: "X-A", Value: "1"}
	for name, tt := range map[string]struct {
		fault v1alpha1.Fault
		want  string
		wrong string
	}{
		"both":              {fault: v1alpha1.Fault{Delay: &v1alpha1.FaultDelay{Milliseconds: 60000, Percent: percent(1)}, Abort: &v1alpha1.FaultAbort{Status: 507}}, want: "1 % wait 60000 ms, 100 % get 507"},
		"conditions":        {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 400}, When: []v1alpha1.FaultCondition{condition}}, want: "100 % get 400"},
		"no requests":       {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503, Percent: percent(0)}}},
		"nothing":           {wrong: "fault: must have delay, abort or both"},
		"too slow":          {fault: v1alpha1.Fault{Delay: &v1alpha1.FaultDelay{Milliseconds: 60001}}, wrong: "fault.delay.milliseconds: must be from 1 to 60000"},
		"no time":           {fault: v1alpha1.Fault{Delay: &v1alpha1.FaultDelay{}}, wrong: "fault.delay.milliseconds: "},
		"another status":    {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 200}}, wrong: "fault.abort.status: must be one of"},
		"beyond all":        {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503, Percent: percent(101)}}, wrong: "fault.abort.percent: must be from 0 to 100"},
		"an odd name":       {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}, When: []v1alpha1.FaultCondition{condition, {Type: "Header", Name: "a|b", Match: "Present"}}}, wrong: "fault.when[1]: "},
		"a hostile value":   {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}, When: []v1alpha1.FaultCondition{{Type: "Query", Name: "a", Value: "x\r\n"}}}, wrong: "fault.when[0]: the value must have"},
		"many conditions":   {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}, When: make([]v1alpha1.FaultCondition, 9)}, wrong: "fault.when: must hold 8"},
		"a long list":       {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}, When: long(8)}, wrong: "fault.when: names and values"},
		"a slow expression": {fault: v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}, When: []v1alpha1.FaultCondition{{Type: "Header", Name: "a", Match: "Regex", Value: "(a+)+$"}}}, wrong: "fault.when[0]: "},
	} {
		p := &model.Policy{Fault: &model.Fault{}}
		problems := compileFault(&tt.fault, p)
		got := ""
		for _, problem := range problems {
			got += problem.Key + ": " + problem.Message
			if problem.Closes {
				t.Errorf("%s: closes", name)
			}
		}
		text := ""
		if p.Fault != nil {
			text = p.Fault.String()
		}
		if text != tt.want || tt.wrong == "" && got != "" || !strings.HasPrefix(got, tt.wrong) {
			t.Errorf("%s: %q, problems %q", name, text, got)
		}
	}
}

func long(n int) (out []v1alpha1.FaultCondition) {
	for range n {
		out = append(out, v1alpha1.FaultCondition{Type: "Header", Name: strings.Repeat("n", 64), Value: strings.Repeat("v", 128)})
	}
	return out
}
