package policy

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

func TestStickyCookie(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, tt := range map[string]struct {
		host     string
		secure   bool
		cookie   v1alpha1.AffinityCookie
		want     string
		problems string
	}{
		"default":      {host: "a.test", want: ""},
		"tls":          {host: "a.test", secure: true, want: "; Secure; SameSite=None"},
		"all":          {"www.a.test", true, v1alpha1.AffinityCookie{Path: "/x", Domain: ".a.test", SameSite: "Lax", MaxAge: "3m", Partitioned: true}, "x; Max-Age=180; Domain=a.test; Secure; SameSite=Lax; Partitioned", ""},
		"not secure":   {"a.test", true, v1alpha1.AffinityCookie{Secure: &no}, "", ""},
		"secure":       {"a.test", false, v1alpha1.AffinityCookie{Secure: &yes}, "; Secure; SameSite=None", ""},
		"wildcard":     {"*.a.test", true, v1alpha1.AffinityCookie{Domain: "a.test"}, "; Domain=a.test; Secure; SameSite=None", ""},
		"other domain": {"aa.test", true, v1alpha1.AffinityCookie{Domain: "a.test"}, "; Secure; SameSite=None", "affinity.cookie.domain"},
		"below":        {"a.test", true, v1alpha1.AffinityCookie{Domain: "www.a.test"}, "; Secure; SameSite=None", "affinity.cookie.domain"},
		"none":         {"a.test", false, v1alpha1.AffinityCookie{SameSite: "None"}, "", "affinity.cookie.sameSite"},
		"partitioned":  {"a.test", true, v1alpha1.AffinityCookie{Secure: &no, Partitioned: true}, "", "affinity.cookie.partitioned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Spec{Groups: v1alpha1.PolicySpec{Affinity: &v1alpha1.Affinity{Cookie: &tt.cookie}}}
			got, problems := s.StickyCookie("usual", tt.host, tt.secure)
			var fields []string
			for _, p := range problems {
				fields = append(fields, p.Key)
			}
			if got.Attributes != tt.want || got.Name != "usual" || strings.Join(fields, " ") != tt.problems {
				t.Errorf("%+v, problems %v", got, fields)
			}
		})
	}
}

// TestCookieText: nothing that cannot stand in an attribute gets into a cookie.
func TestCookieText(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"/a;b", "/a|b", "/a\\1", "/a b", "/a\n", "/a\r", "/a\x00", "/a\x7f", "/ä", "a", "/a\"", "/" + strings.Repeat("x", 1024)} {
		c, problems := readAffinity(&v1alpha1.Affinity{Cookie: &v1alpha1.AffinityCookie{Path: bad}})
		if c.Path != "" || len(problems) != 1 {
			t.Errorf("path %q: %q, %v", bad, c.Path, problems)
		}
	}
	for _, bad := range []string{"a.test;x", "A.test", "a..-", "-a", "a_b", "..a", ".", "a.test.", "a\n", strings.Repeat("a", 254)} {
		c, problems := readAffinity(&v1alpha1.Affinity{Cookie: &v1alpha1.AffinityCookie{Domain: bad}})
		if c.Domain != "" || len(problems) != 1 {
			t.Errorf("domain %q: %q, %v", bad, c.Domain, problems)
		}
	}
	for text, want := range map[string]int64{"1s": 1, "2m": 120, "400d": maxCookieAge, "401d": 0, "0s": 0, "99999999d": 0, "1": 0, "-1s": 0, "1ms": 0, "1s;": 0} {
		if got := cookieAge(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestCookieAnnotations: those of OpenShift are a part of the group, and one that has no
// effect with a termination leaves the group alone.
func TestCookieAnnotations(t *testing.T) {
	t.Parallel()
	read := func(termination model.Termination, annotations map[string]string) Spec {
		s, _ := Read(annotations, Spec{}, termination, false)
		return s
	}
	strict := map[string]string{api.AnnotationCookieSameSite: "Strict"}
	edge := read(model.Edge, strict)
	if c, _ := edge.StickyCookie("usual", "a.test", true); edge.Groups.Affinity == nil || c.Attributes != "; Secure; SameSite=Strict" {
		t.Errorf("edge: %+v", c)
	}
	if c, _ := edge.StickyCookie("usual", "a.test", false); c.Attributes != "" {
		t.Errorf("where plain HTTP is allowed: %+v", c)
	}
	if plain := read(model.Plain, strict); plain.Groups.Affinity != nil || plain.CookieSameSite != "" {
		t.Error("the annotation has an effect on a plain route")
	}
	if off := read(model.Plain, map[string]string{api.AnnotationDisableCookies: "true"}); off.Sticky() {
		t.Error("cookies are not off")
	}
	if on := read(model.Plain, map[string]string{api.AnnotationDisableCookies: "false"}); !on.Sticky() || on.Groups.Affinity == nil {
		t.Error("cookies are not on by the annotation")
	}
	if wrong := read(model.Plain, map[string]string{api.AnnotationDisableCookies: "perhaps"}); wrong.Groups.Affinity != nil {
		t.Error("a wrong value is one of the group")
	}
	named := read(model.Edge, map[string]string{api.AnnotationCookieName: "n", api.AnnotationIngressPolicy: `{"affinity":{"cookie":{"path":"/p","sameSite":"Lax"}}}`})
	if c, _ := named.StickyCookie("usual", "a.test", true); c.Name != "n" || c.Attributes != "p; Secure; SameSite=Lax" {
		t.Errorf("both together: %+v", c)
	}
}
