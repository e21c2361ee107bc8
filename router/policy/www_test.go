package policy_test

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

func TestOtherName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a.", 124) + "test"
	for _, tt := range []struct{ www, host, want, wrong string }{
		{"Strip", "a.test", "www.a.test", ""},
		{"Strip", "test", "www.test", ""},
		{"Add", "www.a.test", "a.test", ""},
		{"Add", "www.www.a.test", "www.a.test", ""},
		{"Add", "a.test", "", "begin with www."},
		{"Add", "wwww.a.test", "", "begin with www."},
		{"Strip", "www.a.test", "", "without www."},
		{"Add", "www.test", "", "top-level domain"},
		{"Strip", "*.a.test", "", "wildcard"},
		{"Strip", "*", "", "wildcard"},
		{"Strip", long, "", "too long"},
	} {
		spec, problems := policy.Read(map[string]string{policy.AnnotationWWW: tt.www}, policy.Spec{}, model.Plain, false)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got, err := spec.OtherName(tt.host)
		switch {
		case tt.wrong == "" && (err != nil || got != tt.want):
			t.Errorf("%s of %s: %q, %v; want %q", tt.www, tt.host, got, err, tt.want)
		case tt.wrong != "" && (err == nil || got != "" || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s of %s: %q, %v; want %q", tt.www, tt.host, got, err, tt.wrong)
		}
	}
	for _, wrong := range []string{"", "add", "Strip\r\n", "Add;", "Strip|x", "%[src]", "\x00"} {
		spec, problems := policy.Read(map[string]string{policy.AnnotationWWW: wrong}, policy.Spec{}, model.Plain, false)
		if len(problems) != 1 {
			t.Errorf("%q: %v", wrong, problems)
		}
		if got, err := spec.OtherName("a.test"); got != "" || err != nil {
			t.Errorf("%q: %q, %v", wrong, got, err)
		}
	}
}
