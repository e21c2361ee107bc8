package console

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/explain"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	one, none := 1, 0
	rows := map[string]*explain.Row{
		"shop":  {Route: explain.RouteInfo{Namespace: "web", Name: "shop", Host: "www.Example.com", Path: "/shop", Termination: "edge"}, State: explain.RowServed, Pods: &one, Certificate: "ok", Services: []string{"shop-v1", "shop-v2"}},
		"old":   {Route: explain.RouteInfo{Namespace: "web-test", Name: "old", Host: "old.example.com"}, State: explain.RowRefused, Reasons: []api.Reason{"HostAlreadyClaimed"}},
		"empty": {Route: explain.RouteInfo{Namespace: "test", Name: "empty", Host: "e.example.org", Termination: "passthrough", Ingress: "e"}, State: explain.RowWarns, Pods: &none, Reasons: []api.Reason{"NoEndpoints"}},
	}
	for _, test := range []struct{ text, want string }{
		{"", "empty old shop"},
		{"  ", "empty old shop"},
		{"example.com", "old shop"},
		{"WWW.EXAMPLE.COM/shop", "shop"},
		{"web/shop", "shop"},
		{"host:example state:refused", "old"},
		{"host:example -state:refused", "empty shop"},
		{"ns:web", "shop"},
		{"ns:web*", "old shop"},
		{"ns:*test", "empty old"},
		{"ns:*e*t", "empty old"},
		{"-ns:test -ns:web", "old"},
		{"reason:endpoints", "empty"},
		{"tls:none", "old"},
		{"pods:some", "shop"},
		{"pods:none", "empty"},
		{"pods:unknown", "old"},
		{"cert:OK", "shop"},
		{"service:v2", "shop"},
		{"ingress:e", "empty"},
		{"path:/shop name:sh", "shop"},
		{`"web/shop"`, "shop"},
		{`-"web/shop"`, "empty old"},
		{`name:"sh"`, "shop"},
		{"nothing", ""},
	} {
		q, err := parseQuery(test.text, routeList)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		var got []string
		for _, name := range []string{"empty", "old", "shop"} {
			if q.matches(rows[name]) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: found %v, want %s", test.text, got, test.want)
		}
	}
}

// TestQueryRefused: what cannot be understood finds nothing, and the error says what to
// write instead.
func TestQueryRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"stat:refused":                    "state may be meant",
		"state:refuse":                    "refused may be meant",
		"state:":                          "needs a value",
		"http://x/":                       "double quotes",
		`"open`:                           "a double quote is open",
		strings.Repeat("a ", 21):          "more than 20 words",
		strings.Repeat("a", 1001):         "longer than 1000",
		"state:nothing-of-this-kind-ever": "use one of: refused, closed",
	} {
		l := readList(map[string][]string{"q": {text}}, routeList)
		if l.err == nil || !strings.Contains(l.err.Error(), want) {
			t.Errorf("%.30s: %v", text, l.err)
		}
		if found := l.choose([]*explain.Row{{}}); len(found) > 0 {
			t.Errorf("%.30s: something was found", text)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, text := range []string{"", "host:shop state:refused -ns:test", `"a b":c`, "-", "--a", "İ:x", "ns:*", "ns:**a*", "a:\x00\n\t\r\f", `-"`, ":", "\xff:\xff"} {
		f.Add(text)
	}
	row := &explain.Row{Route: explain.RouteInfo{Namespace: "web", Name: "shop", Host: "www.example.com"}}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := parseQuery(text, routeList)
		if err == nil && len(q) == 1 && !q[0].not {
			same, wrong := parseQuery("-"+text, routeList)
			if wrong == nil && len(same) == 1 && same[0].not && same.matches(row) == q.matches(row) {
				t.Errorf("%q finds the same with a minus", text)
			}
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		total, page int
		want        window
	}{
		{0, 1, window{0, 0, 0, 1, 1}},
		{0, 9, window{0, 0, 0, 1, 1}},
		{1, 1, window{1, 1, 1, 1, 1}},
		{64, 2, window{1, 64, 64, 1, 1}},
		{65, 2, window{65, 65, 65, 2, 2}},
		{10000, 1 << 40, window{9985, 10000, 10000, 157, 157}},
	} {
		got := windowOf(test.total, test.page)
		if got != test.want {
			t.Errorf("%d rows, page %d: %+v", test.total, test.page, got)
		}
		if n := len(part(make([]int, test.total), got)); test.total > 0 && n != got.Last-got.First+1 || n > pageRows {
			t.Errorf("%d rows, page %d: %d shown", test.total, test.page, n)
		}
	}
}

// TestCSV: no text of a tenant is a formula of a spreadsheet.
func TestCSV(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := writeCSV(&b, []*explain.Row{{Route: explain.RouteInfo{Namespace: "web", Name: "-shop", Host: `=HYPERLINK("http://evil")`, Path: "@a"}, Why: "+1,\n\"2\""}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	for _, i := range []int{1, 3, 4, 9} {
		if !strings.HasPrefix(rows[1][i], "'") {
			t.Errorf("%s is %q", rows[0][i], rows[1][i])
		}
	}
}
