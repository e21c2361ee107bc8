package admit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/admit"
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

// TestConditions: a claim that the rules cannot decide as a whole gets nothing, and
// takes nothing from others, however old it is.
func TestConditions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*model.Claim){
		"a method": func(c *model.Claim) { c.Conditions = &model.Conditions{Method: "GET"} },
		"a header": func(c *model.Claim) {
			c.Conditions = &model.Conditions{Headers: []model.Condition{{Name: "X", Value: "1"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := claims("1 a/x h /\n2 a/y h /")
			old := all["h"][0]
			change(old)
			h := admit.Decide(all, false)["h"]
			if f, lost := h.Losers[old.ID()]; !lost || !strings.Contains(f.Message, "not supported") {
				t.Errorf("the claim gets %+v", f)
			}
			if len(h.Winners) != 1 || h.Winners[0].Owner.Name != "y" {
				t.Errorf("served: %v", h.Winners)
			}
		})
	}
}
