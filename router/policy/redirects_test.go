package policy

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

func at(path string, to v1alpha1.RedirectTarget) v1alpha1.RedirectRule {
	return v1alpha1.RedirectRule{Match: &v1alpha1.RedirectMatch{Path: path}, To: to}
}

// TestRedirects: where requests are redirected to, by the rules of a policy.
func TestRedirects(t *testing.T) {
	t.Parallel()
	group := &v1alpha1.Redirects{AppRoot: "/app", Rules: []v1alpha1.RedirectRule{
		at("/old", v1alpha1.RedirectTarget{Prefix: "/new"}),
		at("/old/deep", v1alpha1.RedirectTarget{Path: "/never"}),
		at("/cut", v1alpha1.RedirectTarget{Prefix: "/"}),
		at("/host", v1alpha1.RedirectTarget{Host: "b.test"}),
		at("/port", v1alpha1.RedirectTarget{Port: 8443}),
		at("/scheme", v1alpha1.RedirectTarget{Scheme: "https", Port: 444, Path: "/x|y"}),
		{Match: &v1alpha1.RedirectMatch{Path: "/one", Type: "Exact"}, To: v1alpha1.RedirectTarget{URL: "/two"}, Query: "Keep", Code: 301},
		{Match: &v1alpha1.RedirectMatch{Path: "/dropped"}, To: v1alpha1.RedirectTarget{Prefix: "/kept"}, Query: "Drop"},
		at("/pair/a", v1alpha1.RedirectTarget{Path: "/pair/b"}),
		at("/pair", v1alpha1.RedirectTarget{Path: "/pair/a"}),
		at("/bad", v1alpha1.RedirectTarget{Prefix: "//e.test"}),
		at("/bad", v1alpha1.RedirectTarget{Host: "E_"}),
		at("/bad", v1alpha1.RedirectTarget{}),
		{Match: &v1alpha1.RedirectMatch{Path: "bad"}, To: v1alpha1.RedirectTarget{URL: "/x"}},
		{To: v1alpha1.RedirectTarget{URL: "/x"}, Code: 304},
	}}
	var p model.Policy
	problems := Compile(&v1alpha1.PolicySpec{Redirects: group}, &p)
	var fields []string
	for _, f := range problems {
		fields = append(fields, f.Key)
		if f.Closes {
			t.Errorf("%s closes", f.Key)
		}
	}
	const want = "redirects.rules[1] redirects.rules[10] redirects.rules[11] redirects.rules[12] redirects.rules[13] redirects.rules[14]"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("problems of %s, want %s", got, want)
	}
	good, loops := WithoutLoops(p.Redirects, Site{Host: "a.test", HTTP: true})
	if strings.Join(loops, " ") != "/pair/a /pair" {
		t.Errorf("loops %q", loops)
	}
	p.Redirects = good
	for target, location := range map[string]string{
		"/": "/app", "/old": "//a.test:81/new", "/old/x?q=1": "//a.test:81/new/x?q=1", "/older": "", "/old/deep": "//a.test:81/new/deep",
		"/cut//e.test/": "//a.test:81//e.test/", "/cut": "//a.test:81", "/host/x": "//b.test/host/x", "/port?q": "//a.test:8443/port?q",
		"/scheme/z?q": "https://a.test:444/x%7Cy?q", "/one?q": "/two?q", "/one/": "", "/dropped/x?q": "//a.test:81/kept/x", "/pair": "",
	} {
		path, query, asked := strings.Cut(target, "?")
		if asked {
			query = "?" + query
		}
		a, answered := match.Judge(&p, &match.Client{Host: "a.test:81", Path: path, Query: query})
		if answered != (location != "") || a.Location != location {
			t.Errorf("%s: %q, want %q", target, a.Location, location)
		}
	}
}

// TestRedirectPercent: a percent sign that begins no escape is refused, in annotations
// and in policies.
func TestRedirectPercent(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"/%": false, "/a%zz?b": false, "/%25": true, "https://a.test/%": false, "https://a.test/%41": true} {
		if _, problems := Read(map[string]string{AnnotationRedirect: text}, Spec{}, model.Edge, false); (len(problems) == 0) != good {
			t.Errorf("annotation %q: %+v", text, problems)
		}
		rules := []v1alpha1.RedirectRule{{To: v1alpha1.RedirectTarget{URL: text}}}
		if problems := Compile(&v1alpha1.PolicySpec{Redirects: &v1alpha1.Redirects{Rules: rules}}, &model.Policy{}); (len(problems) == 0) != good {
			t.Errorf("policy %q: %+v", text, problems)
		}
	}
}
