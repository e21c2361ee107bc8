package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// readCanary reads the annotation of a route.
func readCanary(text string) (*v1alpha1.Canary, *model.Canary, []policy.Problem) {
	s, problems := policy.Read(map[string]string{policy.AnnotationCanary: text}, policy.Spec{CookieSameSite: "None"}, model.Plain, false)
	var p model.Policy
	s.Compile(&p)
	return s.Groups.Canary, p.Canary, problems
}

func TestCanaryAnnotation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, rules, wrong string }{
		{"next 10", "", ""},
		{"next:8080 10/1000 sticky", "", ""},
		{"next query:q=1 cookie:c=a%20b not-header:X=never header:X=always", "hX=never>0 hX=always>1 cc=a b>1 qq=1>1", ""},
		{"next header:X header:Y^=v header:Z~=^v[0-9]+$", "hX>1 hY=v>1 hZ=(?-m:\\Av[0-9]+$)>1", ""},
		{"", "", "must be SERVICE"},
		{"next 101", "", "add up to 101"},
		{"next 1/0", "", "the total must be"},
		{"next 1/100000", "", "must be SERVICE"},
		{"Next 10", "", "must be SERVICE"},
		{"next:80:90 10", "", "must be SERVICE"},
		{"next ten", "", "must be SERVICE"},
		{"next body:x=1", "", "must be SERVICE"},
		{"next header:=1", "", "not a name"},
		{"next header:X|Y=1", "", "not a name"},
		{"next header:X=%0a", "", "visible ASCII"},
		{"next header:X=%zz", "", "must be SERVICE"},
		{"next header:X=" + strings.Repeat("x", 129), "", "128"},
		{"next header:" + strings.Repeat("x", 65) + "=1", "", "64"},
		{"next" + strings.Repeat(" header:X=1", 9), "", "8 conditions"},
		{"next header:X~=(", "", "regular expression"},
		{"next header:X~=(a*)*", "", "repeats what has repetitions"},
	} {
		_, c, problems := readCanary(tt.text)
		if tt.wrong != "" {
			if len(problems) != 1 || !strings.Contains(problems[0].Message, tt.wrong) || c != nil || problems[0].Closes {
				t.Errorf("%q: %+v, %+v; want %q, and no canary", tt.text, c, problems, tt.wrong)
			}
			continue
		}
		if len(problems) > 0 || c == nil {
			t.Errorf("%q: %+v", tt.text, problems)
			continue
		}
		var rules []string
		for _, r := range c.Rules {
			text := string(r.Source) + r.Name
			if r.Compare != model.CanaryPresent {
				text += "=" + r.Value
			}
			rules = append(rules, text+">"+string(rune('0'+r.To)))
		}
		if got := strings.Join(rules, " "); got != tt.rules {
			t.Errorf("%q: rules %q, want %q", tt.text, got, tt.rules)
		}
	}
}

// TestCanaryText: what is written as an annotation is read as the same.
func TestCanaryText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"next", "next 10", "next:http 10/1000 header:X=a%20b not-cookie:c=never query:q^=%25 header:Y~=%5Ev$ header:Z sticky"} {
		want, _, problems := readCanary(text)
		if len(problems) > 0 {
			t.Fatalf("%q: %v", text, problems)
		}
		got, _, problems := readCanary(policy.CanaryText(want))
		if d := cmp.Diff(want, got); d != "" || len(problems) > 0 {
			t.Errorf("%q became %q: %v\n%s", text, policy.CanaryText(want), problems, d)
		}
	}
}

// TestExpression: an expression is taken if PCRE2 reads it as RE2 does, and if it takes
// few steps there.
func TestExpression(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"beta": "", "^v[0-9]+$": "", ".*chrome.*": "", "^(a|b|c)$": "", "(?i)beta": "", "^[^a]*$": "", "a{2}": "", `^\d+\.\d+`: "", "^a?b?$": "",
		"(": "regular expression", "(?=a)": "regular expression", `(a)\1`: "regular expression", "a++": "regular expression",
		"(a+)+": "repeats", "(a|ab)*": "repeats", "(a?)*": "repeats", "(a{2}){3}": "repeats",
		"a*b*": "too many", "^a*b*c*": "too many", ".*a.*b.*": "too many",
		"ä": "ASCII", "[à-ü]": "ASCII", `\pL`: "ASCII", "[^ä]": "ASCII", `[\x{80}-\x{10FFFF}]`: "ASCII",
		strings.Repeat("a?", 5): "alternatives", strings.Repeat("(a|bc)", 5): "alternatives",
	} {
		got, err := policy.Expression(text)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, wrong)
		}
	}
}

// TestCanaryPolicy: a policy that the API server did not check leaves all requests to
// the route's own Service, and says which field is wrong.
func TestCanaryPolicy(t *testing.T) {
	t.Parallel()
	service := func(change func(*v1alpha1.CanaryService)) *v1alpha1.Canary {
		s := v1alpha1.CanaryService{Name: "next", Weight: 1}
		change(&s)
		return &v1alpha1.Canary{Services: []v1alpha1.CanaryService{s}}
	}
	condition := func(c v1alpha1.CanaryCondition) *v1alpha1.Canary {
		return service(func(s *v1alpha1.CanaryService) { s.When = []v1alpha1.CanaryCondition{c} })
	}
	for field, c := range map[string]*v1alpha1.Canary{
		"canary.services":                 {},
		"canary.total":                    {Total: 10001, Services: []v1alpha1.CanaryService{{Name: "next"}}},
		"canary.services[1].name":         {Services: []v1alpha1.CanaryService{{Name: "next"}, {Name: "next"}}},
		"canary.services[0].weight":       service(func(s *v1alpha1.CanaryService) { s.Weight = -1 }),
		"canary.services[0].when":         service(func(s *v1alpha1.CanaryService) { s.When = make([]v1alpha1.CanaryCondition, 9) }),
		"canary.services[0].when[0]":      condition(v1alpha1.CanaryCondition{Type: "Body", Name: "x", Value: "y"}),
		"canary.services[0].when[0] to":   condition(v1alpha1.CanaryCondition{Type: "Header", Name: "x", Value: "y", To: "Nowhere"}),
		"canary.services[0].when[0] name": condition(v1alpha1.CanaryCondition{Type: "Header", Name: "x y", Value: "y"}),
		"canary.services[0].when[0] none": condition(v1alpha1.CanaryCondition{Type: "Header", Name: "x"}),
		"canary.services[0].when[0] how":  condition(v1alpha1.CanaryCondition{Type: "Header", Name: "x", Value: "y", Match: "Like"}),
		"canary.sticky.ttl":               {Sticky: &v1alpha1.CanarySticky{TTL: "long"}, Services: []v1alpha1.CanaryService{{Name: "next"}}},
	} {
		var p model.Policy
		problems := policy.Compile(&v1alpha1.PolicySpec{Canary: c}, &p)
		want, _, _ := strings.Cut(field, " ")
		if len(problems) != 1 || problems[0].Key != want || problems[0].Closes || p.Canary != nil {
			t.Errorf("%s: %+v, canary %v", field, problems, p.Canary)
		}
	}
}
