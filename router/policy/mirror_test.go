package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestMirrorTargets: what is wrong with a target, and its share of the requests.
func TestMirrorTargets(t *testing.T) {
	t.Parallel()
	service := &v1alpha1.MirrorService{Name: "copy"}
	text := func(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }
	number := func(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }
	header := func(name, value string) *v1alpha1.MirrorHeaders {
		return &v1alpha1.MirrorHeaders{Set: []v1alpha1.MirrorHeader{{Name: v1alpha1.HeaderName(name), Value: value}}}
	}
	for name, tt := range map[string]struct {
		target v1alpha1.MirrorTarget
		share  int
		wrong  string
	}{
		"all":               {target: v1alpha1.MirrorTarget{Service: service}, share: 10000},
		"a number":          {target: v1alpha1.MirrorTarget{Service: service, Percent: number(5)}, share: 500},
		"decimals":          {target: v1alpha1.MirrorTarget{Service: service, Percent: text("0.25")}, share: 25},
		"one decimal":       {target: v1alpha1.MirrorTarget{Service: service, Percent: text("99.5")}, share: 9950},
		"none":              {target: v1alpha1.MirrorTarget{Service: service, Percent: text("0.00")}},
		"three decimals":    {target: v1alpha1.MirrorTarget{Service: service, Percent: text("1.234")}, wrong: ".percent: must be from 0 to 100"},
		"too many":          {target: v1alpha1.MirrorTarget{Service: service, Percent: number(101)}, wrong: ".percent: "},
		"a little too many": {target: v1alpha1.MirrorTarget{Service: service, Percent: text("100.01")}, wrong: ".percent: "},
		"negative":          {target: v1alpha1.MirrorTarget{Service: service, Percent: number(-1)}, wrong: ".percent: "},
		"words":             {target: v1alpha1.MirrorTarget{Service: service, Percent: text("1|;*+")}, wrong: ".percent: "},
		"nothing":           {wrong: ": must have one of service and url"},
		"both":              {target: v1alpha1.MirrorTarget{Service: service, URL: "http://a"}, wrong: ": must have one"},
		"an address":        {target: v1alpha1.MirrorTarget{URL: "https://a.test:8443/"}, share: 10000},
		"a path":            {target: v1alpha1.MirrorTarget{URL: "http://a.test/b"}, wrong: ".url: must be a scheme"},
		"a query":           {target: v1alpha1.MirrorTarget{URL: "http://a.test?b"}, wrong: ".url: "},
		"a long body":       {target: v1alpha1.MirrorTarget{Service: service, BodyBytes: 16385}, wrong: ".bodyBytes: "},
		"too many at once":  {target: v1alpha1.MirrorTarget{Service: service, MaxInFlight: 257}, wrong: ".maxInFlight: "},
		"a host":            {target: v1alpha1.MirrorTarget{Service: service, HostHeader: "a.test:80"}, share: 10000},
		"a hostile host":    {target: v1alpha1.MirrorTarget{Service: service, HostHeader: "a\r\nb"}, wrong: ".hostHeader: "},
		"a header":          {target: v1alpha1.MirrorTarget{Service: service, Headers: header("X-A", "b c")}, share: 10000},
		"of the connection": {target: v1alpha1.MirrorTarget{Service: service, Headers: header("transfer_encoding", "b")}, wrong: ".headers.set[0].name: "},
		"the mark":          {target: v1alpha1.MirrorTarget{Service: service, Headers: header("X-Fairlead-Mirror", "0")}, wrong: ".headers.set[0].name: "},
		"a hostile value":   {target: v1alpha1.MirrorTarget{Service: service, Headers: header("X-A", "b\nc")}, wrong: ".headers.set[0].value: "},
		"a hostile name":    {target: v1alpha1.MirrorTarget{Service: service, Headers: &v1alpha1.MirrorHeaders{Remove: []v1alpha1.HeaderName{"a\x00"}}}, wrong: ".headers.remove[0]: "},
		"another to keep":   {target: v1alpha1.MirrorTarget{Service: service, Headers: &v1alpha1.MirrorHeaders{Keep: []string{"X-A"}}}, wrong: ".headers.keep[0]: "},
	} {
		share, field, err := MirrorShare(&tt.target)
		got := ""
		if err != nil {
			got = field + ": " + err.Error()
		}
		if share != tt.share || tt.wrong == "" && got != "" || !strings.HasPrefix(got, tt.wrong) {
			t.Errorf("%s: share %d, %q", name, share, got)
		}
		problems := compileMirror(&v1alpha1.Mirror{Targets: []v1alpha1.MirrorTarget{{Service: service}, tt.target}})
		if (len(problems) == 1) != (tt.wrong != "") || len(problems) == 1 && (problems[0].Closes || problems[0].Key != "mirror.targets[1]"+field) {
			t.Errorf("%s: %+v", name, problems)
		}
	}
	if p := compileMirror(&v1alpha1.Mirror{}); len(p) != 1 {
		t.Errorf("no target: %+v", p)
	}
}

// TestMirrorAnnotation: the annotation is a target, or wrong as a whole.
func TestMirrorAnnotation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"copy": "copy", "copy:8080 5%": "copy:8080 5", "copy:http 0.25%": "copy:http 0.25", "": "", "copy 5": "", "copy 5% more": "", "Copy": "", "copy:": "", "copy 101%": "", "copy -1%": "", "http://copy": "",
	} {
		spec, problems := Read(map[string]string{AnnotationMirror: text}, Spec{}, model.Plain, false)
		got := ""
		if m := spec.Groups.Mirror; m != nil {
			got = string(m.Targets[0].Service.Name)
			if p := m.Targets[0].Service.Port; p != nil {
				got += ":" + p.String()
			}
			if p := m.Targets[0].Percent; p != nil {
				got += " " + p.String()
			}
		}
		if got != want || (want == "") != (len(problems) == 1) {
			t.Errorf("%q: %q, %+v", text, got, problems)
		}
	}
}
