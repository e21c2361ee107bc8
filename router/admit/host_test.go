package admit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// claims reads "age namespace/name host path [termination]" lines.
func claims(text string) map[string][]*model.Claim {
	out := map[string][]*model.Claim{}
	for l := range strings.Lines(text) {
		f := strings.Fields(l)
		if len(f) < 4 {
			continue
		}
		ns, name, _ := strings.Cut(f[1], "/")
		c := &model.Claim{
			Owner: model.Object{Kind: "Route", Namespace: ns, Name: name}, UID: f[1], Host: f[2], NamedHost: f[2], Match: model.Match{Path: strings.Trim(f[3], "-")},
			Created: time.Unix(int64(f[0][0]), 0),
		}
		if len(f) > 4 {
			c.Termination = model.Termination(f[4])
		}
		if c.Alias = len(f) > 5; c.Alias {
			c.Rule = f[5]
		}
		c.Backend.Kind, c.Backend.Owner = model.KindOf(c.Termination), c.Owner
		out[c.Host] = append(out[c.Host], c)
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claims string
		shared       bool
		lost         map[string]string // route → part of the message
	}{
		{"paths of one namespace", "1 a/x h / \n2 a/y h /foo\n3 a/z h -", false, nil},
		{"the same path", "2 a/x h /\n1 a/y h /", false, map[string]string{"a/x": "route y already exposes h and is older"}},
		{"equal age", "1 a/x h /\n1 a/b h /", false, map[string]string{"a/x": "route b"}},
		{"another namespace", "1 a/x h /\n2 b/y h /foo", false, map[string]string{"b/y": "a route in another namespace holds h and is older than y"}},
		{"another namespace, shared", "1 a/x h /\n2 b/y h /foo", true, nil},
		{"the same path, shared", "1 a/x h /\n2 b/y h /", true, map[string]string{"b/y": "a route in another namespace"}},
		{"an older one of another namespace displaces all", "2 a/x h /\n3 a/y h /foo\n1 b/z h /z", false, map[string]string{"a/x": "another namespace", "a/y": "another namespace"}},
		{"passthrough and edge", "1 a/p h - passthrough\n2 a/e h /e edge", false, map[string]string{"a/e": "route p already exposes h"}},
		{"edge and passthrough", "2 a/p h - passthrough\n1 a/e h /e edge", false, map[string]string{"a/p": "route e already exposes h"}},
		{"passthrough and a plain path", "1 a/p h - passthrough\n2 a/w h /w", false, nil},
		{"a second name and a route of the namespace that names it", "1 a/x h / edge alias\n2 a/y h / edge", false, map[string]string{"a/x": "route y already exposes h"}},
		{"second names and a younger passthrough route", "1 a/x h /x edge alias\n1 a/z h /z edge alias\n2 a/y h - passthrough", false, map[string]string{"a/x": "route y already exposes h", "a/z": "route y already exposes h"}},
		{"a route and a younger second name", "1 a/x h / edge\n2 a/y h / edge alias", false, map[string]string{"a/y": "route x already exposes h"}},
		{"a second name and a younger route of another namespace", "1 a/x h / edge alias\n2 b/y h / edge", false, map[string]string{"b/y": "another namespace holds h"}},
		{"an older route of another namespace and a second name", "1 b/y h / edge\n2 a/x h / edge alias", false, map[string]string{"a/x": "another namespace holds h"}},
		{"edge and reencrypt paths", "1 a/e h /e edge\n2 a/r h /r reencrypt", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			served := 0
			for _, h := range admit.Decide(claims(tt.claims), tt.shared) {
				served += len(h.Winners)
				for k, f := range h.Losers {
					got[k.Owner.String()] = f.Message
				}
			}
			for k, part := range tt.lost {
				if strings.Contains(got[k], part) {
					got[k] = part
				}
			}
			if d := cmp.Diff(tt.lost, got); d != "" && len(tt.lost)+len(got) > 0 {
				t.Errorf("losers (-want +got):\n%s", d)
			}
			if all := strings.Count(tt.claims, "\n") + 1; served+len(got) != all {
				t.Errorf("%d winners and %d losers of %d", served, len(got), all)
			}
		})
	}
}

// withConditions are claims of one host with conditions by name: "m" a method, "e" an
// expression, "u" one that is not certain.
func withConditions(text string, kinds map[string]string) []*model.Claim {
	all := claims(text)["h"]
	for _, c := range all {
		for _, kind := range kinds[c.Owner.Name] {
			if c.Conditions == nil {
				c.Conditions = &model.Conditions{}
			}
			switch kind {
			case 'm':
				c.Conditions.Method = "GET"
			case 'e', 'u':
				c.Conditions.Path = &model.PathExpression{Written: c.Path + "[0-9]", Pattern: c.Owner.Name, Longest: 10, Certain: kind == 'e'}
			}
		}
	}
	return all
}

// TestConditions: claims of a namespace share a path if their conditions differ, and the
// list of its key has them in the order in which they are asked.
func TestConditions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claims string
		kinds        map[string]string
		shared       bool
		lost, order  string
	}{
		{"a method", "1 a/x h /\n2 a/y h /", map[string]string{"y": "m"}, false, "", "y x"},
		{"the same method", "1 a/x h /\n2 a/y h /", map[string]string{"x": "m", "y": "m"}, false, "y", "x"},
		{"an expression and a path", "1 a/x h /\n2 a/y h /\n3 a/z h /", map[string]string{"y": "m", "z": "e"}, false, "", "z y x"},
		{"another namespace", "1 a/x h /\n2 b/y h /", map[string]string{"y": "m"}, true, "y", "x"},
		{"two expressions", "1 a/x h /\n2 a/y h /", map[string]string{"x": "e", "y": "e"}, false, "", "x y"},
	} {
		h := admit.Decide(map[string][]*model.Claim{"h": withConditions(tt.claims, tt.kinds)}, tt.shared)["h"]
		var lost, order []string
		for id := range h.Losers {
			lost = append(lost, id.Owner.Name)
		}
		for _, e := range h.Table.HTTP {
			if e.Key != "h/" {
				t.Errorf("%s: key %s", tt.name, e.Key)
			}
			for _, v := range match.Values(e.Value) {
				if v != match.Miss {
					order = append(order, strings.Split(v, ":")[2])
				}
			}
		}
		if got := strings.Join(order, " "); got != tt.order || strings.Join(lost, " ") != tt.lost {
			t.Errorf("%s: %v lost, and the order is %q; want %q and %q", tt.name, lost, got, tt.lost, tt.order)
		}
	}
}

// TestTooManyConditions: what a host makes HAProxy do for a request is bounded, and a claim
// that keeps requests away does not open its paths by being one too many.
func TestTooManyConditions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		kind    string
		fits    int
		guarded bool
	}{{"expressions", "e", 128, false}, {"uncertain ones", "u", 4, false}, {"expressions of closed claims", "e", 128, true}, {"of one key", "m", 51, false}} {
		text, kinds := "", map[string]string{}
		for i := range 140 {
			name := fmt.Sprintf("r%03d", i)
			path := fmt.Sprintf("/p%d", i)
			if kinds[name] = tt.kind; tt.kind == "m" {
				path = "/"
			}
			text += fmt.Sprintf("1 a/%s h %s\n", name, path)
		}
		all := withConditions(text, kinds)
		for i, c := range all {
			if tt.kind == "m" {
				c.Conditions.Method = fmt.Sprintf("M%0100d", i)
			}
			if tt.guarded {
				c.Backend.Asks = &model.Policy{Restricted: true}
			}
		}
		h := admit.Decide(map[string][]*model.Claim{"h": all}, false)["h"]
		if tt.guarded {
			if len(h.Winners) != 140 || len(h.Closed) != 140-tt.fits || len(h.Losers) != 0 {
				t.Errorf("%s: %d winners, %d closed, %d losers", tt.name, len(h.Winners), len(h.Closed), len(h.Losers))
			}
			continue
		}
		if len(h.Winners) != tt.fits || len(h.Losers) != 140-tt.fits {
			t.Errorf("%s: %d winners, %d losers", tt.name, len(h.Winners), len(h.Losers))
		}
		for _, f := range h.Losers {
			if f.Reason != api.ReasonInvalidField {
				t.Errorf("%s: %v", tt.name, f)
			}
		}
	}
}
