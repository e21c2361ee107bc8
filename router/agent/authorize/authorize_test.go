package authorize

import (
	"net/netip"
	"testing"
)

func input() Input {
	claims := map[string][]string{
		"sub": {"ann"}, "groups": {"dev", "ops"}, "scope": {"read write"}, "empty": {""}, "none": {},
	}
	headers := map[string][]string{"x-tenant": {"a"}, "x-twice": {"a", "a"}}
	return Input{
		Method: "GET", Path: "/shop/cart", Client: netip.MustParseAddr("::ffff:192.0.2.7"), Consumer: "ann",
		Claim: func(name string) ([]string, bool) { v, ok := claims[name]; return v, ok },
		Header: func(name string) (string, int) {
			if v := headers[name]; len(v) > 0 {
				return v[0], len(v)
			}
			return "", 0
		},
	}
}

// TestEvaluate: each condition alone, and the order of rules.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	allow := func(r Rule) []Rule { r.Action = Allow; return []Rule{r} }
	for name, test := range map[string]struct {
		rules []Rule
		want  bool
		rule  int
	}{
		"no rules":                      {nil, true, -1},
		"all may":                       {allow(Rule{}), true, 0},
		"an unknown action refuses":     {[]Rule{{Action: "allow"}}, false, 0},
		"an empty action refuses":       {[]Rule{{}}, false, 0},
		"method":                        {allow(Rule{Methods: []string{"POST", "GET"}}), true, 0},
		"another method":                {allow(Rule{Methods: []string{"get"}}), false, -1},
		"exact path":                    {allow(Rule{Paths: []Path{{Value: "/shop/cart"}}}), true, 0},
		"exact path, longer":            {allow(Rule{Paths: []Path{{Value: "/shop"}}}), false, -1},
		"prefix":                        {allow(Rule{Paths: []Path{{Value: "/shop", Prefix: true}}}), true, 0},
		"prefix with a slash":           {allow(Rule{Paths: []Path{{Value: "/shop/", Prefix: true}}}), true, 0},
		"prefix within a segment":       {allow(Rule{Paths: []Path{{Value: "/sho", Prefix: true}}}), false, -1},
		"root":                          {allow(Rule{Paths: []Path{{Value: "/", Prefix: true}}}), true, 0},
		"claim":                         {allow(Rule{Claims: []Claim{{Name: "sub", Values: []string{"ann"}}}}), true, 0},
		"claim, another value":          {allow(Rule{Claims: []Claim{{Name: "sub", Values: []string{"bob"}}}}), false, -1},
		"item of a list":                {allow(Rule{Claims: []Claim{{Name: "groups", Values: []string{"ops"}}}}), true, 0},
		"prefix of an item":             {allow(Rule{Claims: []Claim{{Name: "groups", Prefix: "op"}}}), true, 0},
		"claim exists":                  {allow(Rule{Claims: []Claim{{Name: "empty", Exists: true}}}), true, 0},
		"a missing claim is not empty":  {allow(Rule{Claims: []Claim{{Name: "missing", Values: []string{""}}}}), false, -1},
		"an empty claim is empty":       {allow(Rule{Claims: []Claim{{Name: "empty", Values: []string{""}}}}), true, 0},
		"an empty list has no item":     {allow(Rule{Claims: []Claim{{Name: "none", Values: []string{""}}}}), false, -1},
		"a claim without a condition":   {allow(Rule{Claims: []Claim{{Name: "sub"}}}), false, -1},
		"both claims":                   {allow(Rule{Claims: []Claim{{Name: "sub", Exists: true}, {Name: "missing", Exists: true}}}), false, -1},
		"scopes":                        {allow(Rule{Scopes: []string{"write", "read"}}), true, 0},
		"one scope is missing":          {allow(Rule{Scopes: []string{"read", "admin"}}), false, -1},
		"part of a scope":               {allow(Rule{Scopes: []string{"rea"}}), false, -1},
		"one of the groups":             {allow(Rule{Groups: []string{"x", "dev"}}), true, 0},
		"no group":                      {allow(Rule{Groups: []string{"x"}}), false, -1},
		"consumer":                      {allow(Rule{Consumers: []string{"ann"}}), true, 0},
		"network":                       {allow(Rule{CIDRs: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}), true, 0},
		"another network":               {allow(Rule{CIDRs: []netip.Prefix{netip.MustParsePrefix("::/0")}}), false, -1},
		"header":                        {allow(Rule{Headers: []Header{{Name: "X-Tenant", Values: []string{"a"}}}}), true, 0},
		"header, another value":         {allow(Rule{Headers: []Header{{Name: "X-Tenant", Values: []string{"b"}}}}), false, -1},
		"a header that is there twice":  {allow(Rule{Headers: []Header{{Name: "X-Twice", Values: []string{"a"}}}}), false, -1},
		"all conditions":                {allow(Rule{Methods: []string{"GET"}, Groups: []string{"dev"}, Consumers: []string{"bob"}}), false, -1},
		"a refusal before overrides":    {[]Rule{{Action: Deny, Groups: []string{"ops"}}, {Action: Allow}}, false, 0},
		"a refusal after does not":      {[]Rule{{Action: Allow, Groups: []string{"ops"}}, {Action: Deny}}, true, 0},
		"a refusal that does not apply": {[]Rule{{Action: Deny, Groups: []string{"x"}}, {Action: Allow}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, rule := Evaluate(test.rules, input()); got != test.want || rule != test.rule {
				t.Errorf("allowed %v by rule %d, want %v by %d", got, rule, test.want, test.rule)
			}
		})
	}
}

// TestNoIdentity: without consumer, claims and headers only a rule without such
// conditions holds.
func TestNoIdentity(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{
		{Claims: []Claim{{Name: "sub", Exists: true}}},
		{Scopes: []string{"read"}},
		{Groups: []string{"dev"}},
		{Consumers: []string{""}},
		{Headers: []Header{{Name: "X-Tenant"}}},
		{CIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
	} {
		r.Action = Allow
		if allowed, _ := Evaluate([]Rule{r}, Input{Method: "GET", Path: "/"}); allowed {
			t.Errorf("%+v lets in", r)
		}
	}
}

// TestByIdentity: which rules allow to keep a decision for a client.
func TestByIdentity(t *testing.T) {
	t.Parallel()
	if !ByIdentity([]Rule{{Groups: []string{"a"}, Scopes: []string{"b"}, Consumers: []string{"c"}, Claims: []Claim{{}}}}) {
		t.Error("claims say who the client is")
	}
	for _, r := range []Rule{{Methods: []string{"GET"}}, {Paths: []Path{{}}}, {CIDRs: []netip.Prefix{{}}}, {Headers: []Header{{}}}} {
		if ByIdentity([]Rule{{}, r}) {
			t.Errorf("%+v is about a single request", r)
		}
	}
}
