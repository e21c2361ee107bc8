package cases

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
	"github.com/fairlead/fairlead/test/cases/portal"
)

// value returns what a request has of a name: the last header, the first parameter.
func (r *request) value(source model.CanarySource, name string) (value string, has bool) {
	switch source {
	case model.CanaryHeader:
		for _, line := range r.header {
			if n, v, _ := strings.Cut(line, ": "); strings.EqualFold(n, name) {
				value, has = v, true
			}
		}
	case model.CanaryQuery:
		_, query, _ := strings.Cut(r.target, "?")
		for pair := range strings.SplitSeq(query, "&") {
			if n, v, is := strings.Cut(pair, "="); is && n == name {
				text, err := url.PathUnescape(v)
				if err != nil || strings.Contains(v, "%00") {
					return v, true // what HAProxy does not decode
				}
				return text, true
			}
		}
	case model.CanaryCookie:
	}
	return value, has
}

// rule makes a random rule of a portal.
func (u *universe) rule(n int) portal.Rule {
	r := portal.Rule{
		Name: fmt.Sprint("r", n), Host: pick(u, []string{"a.p.test", "*.p.test"}), Path: pick(u, []string{"/", "/foo", "/foo/", "/foo/bar"}),
		Service: pick(u, []string{"s1", "s2"}), Exact: u.IntN(4) == 0,
	}
	if u.IntN(5) == 0 {
		return r
	}
	c := &model.Conditions{Method: pick(u, []string{"", "", "GET", "PUT"})}
	for _, name := range []string{"X-A", "x-b"} {
		if u.IntN(3) == 0 {
			c.Headers = append(c.Headers, u.condition(name, []string{"1", "2", "a b;>+"}))
		}
	}
	if u.IntN(3) == 0 {
		c.Queries = append(c.Queries, u.condition("q", []string{"1", "a b"}))
	}
	if u.IntN(4) == 0 {
		text := pick(u, somePatterns)
		if e, err := regex.ParseMatcher(text, false); err == nil {
			r.Path, r.Exact = e.Beginning, false
			c.Path = &model.PathExpression{Written: text, Pattern: e.Pattern, Longest: min(e.Longest, 30), Certain: e.Certain}
		}
	}
	r.Conditions = c
	return r
}

// condition makes a random condition on a header or parameter.
func (u *universe) condition(name string, values []string) model.Condition {
	c := model.Condition{Name: name, Value: pick(u, values)}
	if u.IntN(2) == 0 {
		c.Value = pick(u, someValuePatterns)
		e, err := regex.ParseValue(c.Value)
		if err != nil {
			u.t.Fatal(err)
		}
		c.Pattern, c.Longest, c.Certain = e.Pattern, min(e.Longest, 30), e.Certain
	}
	return c
}

var someValuePatterns = []string{"1|2", "[0-9]+", "a .*", ".*", ".*;>.", `[^1]*`, `(?i)A B.*`, "(?:)", `\x00?b`, "^2$"}

// TestConditions: random claims with conditions, beside Routes with expressions that come
// and go, some of which protect: HAProxy decides random requests as the tables do.
func TestConditions(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	u, k := newUniverse(t), newCore(t)
	apply := func(c change) {
		b.apply(c)
		k.apply(c)
	}
	apply(change{settings: &door.Settings{RouterName: "cases", WildcardsAllowed: true}})
	apply(u.services())
	decided := map[string]int{}
	for range 30 {
		rules := make([]portal.Rule, 10)
		for i := range rules {
			rules[i] = u.rule(i)
		}
		p, r := newPortal(rules...), u.route()
		p.Namespace = "u1"
		r.Namespace, r.Spec.Host, r.Spec.TLS, r.Spec.WildcardPolicy, r.Spec.To.Name = "u1", "a.p.test", nil, "", "s1"
		delete(r.Annotations, "fairlead.dev/any-host")
		apply(change{put: []metav1.Object{p, r}})
		for range 40 {
			line := u.conditionedRequest()
			e, err := parseLine(line + " -> x")
			if err != nil {
				t.Fatal(err)
			}
			d := decide(k.pipeline.Want(), &e.request)
			res := e.request.do(b.http, b.https)
			if err := d.exactly(res); err != nil {
				for e, v := range k.pipeline.Want().Entries {
					if strings.Contains(e.Key, "p.test") {
						t.Log(e, v)
					}
				}
				t.Fatalf("%s: %v; %+v", line, err, res)
			}
			decided[strings.SplitN(d.value+":", ":", 2)[0]]++
		}
	}
	t.Log(decided)
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

func (u *universe) conditionedRequest() string {
	long := "/foo/barrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
	line := fmt.Sprintf("%s http://%s/ target=%s", pick(u, []string{"GET", "PUT", "POST"}), pick(u, []string{"a.p.test", "x.p.test", "p.test"}),
		pick(u, append([]string{long}, append(otherPaths, somePaths[1:]...)...)))
	line += pick(u, []string{"", "?q=1", "?q=a%20b", "?p=1&q=a+b&q=1", "?q=", "?q", "?q=%00b", "?q=1%00", "?q=%zz", "?q=%0a1", "?q=%ff", "?q=" + strings.Repeat("1", 40)})
	for _, h := range []string{"X-A", "X-B"} {
		line += pick(u, []string{"", " h:" + h + "=1", " h:" + h + "=2", fmt.Sprintf(` h:%s="a b;>+"`, h), " h:" + h + "=1 h:" + h + "=2", " h:" + h + "=", fmt.Sprintf(" h:%s=%s", h, strings.Repeat("2", 40))})
	}
	return line
}
