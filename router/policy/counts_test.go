package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// TestRateFields: what a field may say, and that a limit which cannot be read closes.
func TestRateFields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(*v1alpha1.RequestLimit)
		want string // in the message; empty for good ones
	}{
		"least":           {func(*v1alpha1.RequestLimit) {}, ""},
		"most":            {func(l *v1alpha1.RequestLimit) { l.Requests, l.Burst, l.Per = 1_000_000, 1_000_000, "24h" }, ""},
		"no requests":     {func(l *v1alpha1.RequestLimit) { l.Requests = 0 }, "requests must be"},
		"negative":        {func(l *v1alpha1.RequestLimit) { l.Requests = -1 }, "requests must be"},
		"too many":        {func(l *v1alpha1.RequestLimit) { l.Requests = 1_000_001 }, "requests must be"},
		"negative burst":  {func(l *v1alpha1.RequestLimit) { l.Burst = -1 }, "burst must be"},
		"burst":           {func(l *v1alpha1.RequestLimit) { l.Burst = 500 }, ""},
		"large burst":     {func(l *v1alpha1.RequestLimit) { l.Burst = 501 }, "burst must be"},
		"larger burst":    {func(l *v1alpha1.RequestLimit) { l.Requests, l.Burst = 20_000, 1_000_001 }, "burst must be"},
		"burst of a day":  {func(l *v1alpha1.RequestLimit) { l.Per, l.Burst = "1h", 120 }, ""},
		"longer burst":    {func(l *v1alpha1.RequestLimit) { l.Per, l.Burst = "1h", 121 }, "within 24h"},
		"short time":      {func(l *v1alpha1.RequestLimit) { l.Per = "500ms" }, "per must be"},
		"part of seconds": {func(l *v1alpha1.RequestLimit) { l.Per = "1500ms" }, "per must be"},
		"long time":       {func(l *v1alpha1.RequestLimit) { l.Per = "25h" }, "per must be"},
		"no time":         {func(l *v1alpha1.RequestLimit) { l.Per = "soon" }, "not a time"},
		"name":            {func(l *v1alpha1.RequestLimit) { l.Name = "a:b" }, "name must"},
		"long name":       {func(l *v1alpha1.RequestLimit) { l.Name = strings.Repeat("a", 33) }, "name must"},
		"line in a name":  {func(l *v1alpha1.RequestLimit) { l.Name = "a\n" }, "name must"},
		"status":          {func(l *v1alpha1.RequestLimit) { l.Status = 200 }, "status must"},
		"headers":         {func(l *v1alpha1.RequestLimit) { l.Headers = "All" }, "headers must"},
		"scope":           {func(l *v1alpha1.RequestLimit) { l.Scope = "Cluster" }, "scope must"},
		"kind of key":     {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Method"} }, "key.type must"},
		"consumer":        {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Consumer"} }, ""},
		"claim": {func(l *v1alpha1.RequestLimit) {
			l.Key = &v1alpha1.LimitKey{Type: "Claim", Name: "https://a.test/x y|+:"}
		}, ""},
		"named consumer":  {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Consumer", Name: "a"} }, "key.name is"},
		"claim without":   {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Claim"} }, "key.name is"},
		"line in a claim": {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Claim", Name: "a\n"} }, "key.name must"},
		"long claim": {func(l *v1alpha1.RequestLimit) {
			l.Key = &v1alpha1.LimitKey{Type: "Claim", Name: strings.Repeat("a", 129)}
		}, "key.name must"},
		"shared consumer": {func(l *v1alpha1.RequestLimit) {
			l.Key, l.Scope = &v1alpha1.LimitKey{Type: "Consumer"}, ScopeShared
		}, ""},
		"some requests": {func(l *v1alpha1.RequestLimit) {
			l.Match = &v1alpha1.LimitMatch{Methods: []string{"POST", "GET"}, Paths: []v1alpha1.LimitPath{{Value: "/a b/ü"}, {Value: "/", Type: "Exact"}}}
		}, ""},
		"empty match":      {func(l *v1alpha1.RequestLimit) { l.Match = &v1alpha1.LimitMatch{} }, "match must have"},
		"unknown method":   {func(l *v1alpha1.RequestLimit) { l.Match = &v1alpha1.LimitMatch{Methods: []string{"post"}} }, "match.methods[0]: unknown method"},
		"a method twice":   {func(l *v1alpha1.RequestLimit) { l.Match = &v1alpha1.LimitMatch{Methods: []string{"GET", "GET"}} }, "match.methods[1]"},
		"line in a method": {func(l *v1alpha1.RequestLimit) { l.Match = &v1alpha1.LimitMatch{Methods: []string{"GET\n"}} }, "match.methods[0]"},
		"pattern":          {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("Regex", "/a") }, "match.paths[0].type"},
		"relative path":    {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "a") }, "match.paths[0].value"},
		"no path":          {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "") }, "match.paths[0].value"},
		"dots":             {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "/a/../b") }, "match.paths[0].value"},
		"encoded path":     {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "/%61") }, "match.paths[0].value"},
		"query":            {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "/a?b") }, "match.paths[0].value"},
		"line in a path":   {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "/a\n") }, "match.paths[0].value"},
		"no text":          {func(l *v1alpha1.RequestLimit) { l.Match = limitPaths("", "/\xff") }, "match.paths[0].value"},
		"many paths": {func(l *v1alpha1.RequestLimit) {
			l.Match = limitPaths("", strings.Split(strings.Repeat("/a ", 9), " ")...)
		}, "match.paths has more"},
		"long paths": {func(l *v1alpha1.RequestLimit) {
			l.Match = limitPaths("", "/"+strings.Repeat("a", 255), "/"+strings.Repeat("b", 255))
		}, "at most 512"},
		"key without":    {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Cookie"} }, "key.name is"},
		"key with":       {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "None", Name: "a"} }, "key.name is"},
		"name of a key":  {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Header", Name: "a b"} }, "key.name must"},
		"line in a key":  {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Query", Name: "a\n"} }, "key.name must"},
		"bits":           {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Address", IPv6Prefix: 48} }, ""},
		"few bits":       {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Address", IPv6Prefix: 44} }, "key.ipv6Prefix"},
		"odd bits":       {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Address", IPv6Prefix: 57} }, "key.ipv6Prefix"},
		"bits of a host": {func(l *v1alpha1.RequestLimit) { l.Key = &v1alpha1.LimitKey{Type: "Host", IPv6Prefix: 56} }, "key.ipv6Prefix"},
	} {
		limit := v1alpha1.RequestLimit{Name: "a", Requests: 5}
		test.edit(&limit)
		var p model.Policy
		problems := compileCounts(&v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{limit}}, &p)
		switch {
		case test.want == "" && (len(problems) > 0 || len(p.Rates)+len(p.Identified)+len(p.SharedIdentified) != 1):
			t.Errorf("%s: %v, rates %v", name, problems, p.Rates)
		case test.want != "" && (len(problems) != 1 || !problems[0].Closes || !strings.Contains(problems[0].Message, test.want)):
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
	}
}

// TestConcurrentsCombine: of limits by the same key the smallest holds, and its status.
func TestConcurrentsCombine(t *testing.T) {
	t.Parallel()
	var p model.Policy
	for _, l := range []v1alpha1.ConcurrentLimit{
		{Count: 5}, {Count: 3, Status: 503}, {Count: 4}, {Count: 7, Key: &v1alpha1.LimitKey{Type: "Header", Name: "X-User"}}, {Count: 6, Key: &v1alpha1.LimitKey{Type: "Header", Name: "x-user"}},
	} {
		if problems := compileCounts(&v1alpha1.Limits{Concurrent: &l}, &p); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	want := []model.ConcurrentLimit{
		{Count: 3, Key: model.LimitKey{Kind: model.KeyAddress, IPv6Prefix: 64}, Status: 503},
		{Count: 6, Key: model.LimitKey{Kind: model.KeyHeader, Name: "x-user"}, Status: 429},
	}
	if diff := cmp.Diff(want, p.Concurrents); diff != "" {
		t.Error(diff)
	}
	for _, count := range []int32{2, 1, 3} {
		if problems := compileCounts(&v1alpha1.Limits{Concurrent: &v1alpha1.ConcurrentLimit{Count: count, Key: &v1alpha1.LimitKey{Type: "Consumer"}}}, &p); len(problems) > 0 {
			t.Error(problems)
		}
	}
	if len(p.IdentifiedConcurrents) != 1 || p.IdentifiedConcurrents[0].Count != 1 || len(p.Concurrents) != len(want) {
		t.Errorf("concurrent requests by consumers: %+v", p.IdentifiedConcurrents)
	}
	if problems := compileCounts(&v1alpha1.Limits{Concurrent: &v1alpha1.ConcurrentLimit{}}, &p); len(problems) != 1 || !problems[0].Closes {
		t.Errorf("no count: %v", problems)
	}
}

// TestLimitAnnotation: the forms of fairlead.dev/limit.
func TestLimitAnnotation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.RateLimit{
		"20/s burst 40": {Requests: 20, Per: time.Second, Burst: 40},
		"5/m":           {Requests: 5, Per: time.Minute, Burst: 5},
		"1000/h":        {Requests: 1000, Per: time.Hour, Burst: 1000},
	} {
		spec, problems := Read(map[string]string{AnnotationLimit: text}, Spec{}, model.Plain, false)
		var p model.Policy
		spec.Compile(&p)
		want.Name, want.Status, want.Headers, want.Key = "requests", 429, model.HeadersDraft, model.LimitKey{Kind: model.KeyAddress, IPv6Prefix: 64}
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
		if diff := cmp.Diff([]model.RateLimit{want}, p.Rates); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"", "20", "20/", "20/s ", " 20/s", "20/d", "20/s burst", "20/s  burst 40", "20/s burst 40 ", "20/S", "+5/s", "-5/s", "5.5/s", "0x5/s", "٥/s", "20/s burst 0", "20000000/s", "5/s\n", "5/s\r\nburst 5",
	} {
		if _, problems := Read(map[string]string{AnnotationLimit: text}, Spec{}, model.Plain, false); len(problems) != 1 || !problems[0].Closes {
			t.Errorf("%q: %v", text, problems)
		}
	}
	for _, text := range []string{"", "Address", "header", "header:", "header: X", "header:X,Y", "claim", "claim:", "consumer:a", "Consumer", "claim:a\n", "cookie:a=b", "header:X\n", "query:" + strings.Repeat("a", 129)} {
		if _, problems := Read(map[string]string{AnnotationLimit: "5/s", AnnotationLimitKey: text}, Spec{}, model.Plain, false); len(problems) != 1 || !problems[0].Closes {
			t.Errorf("key %q: %v", text, problems)
		}
	}
}

func limitPaths(kind string, paths ...string) *v1alpha1.LimitMatch {
	var m v1alpha1.LimitMatch
	for _, p := range paths {
		m.Paths = append(m.Paths, v1alpha1.LimitPath{Type: kind, Value: p})
	}
	return &m
}
