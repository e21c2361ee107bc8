package admit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// shared makes claims of listeners of Gateways of those whose names begin with "http": with "s"
// next at port 443, and with "!" at the end they take over. A path with "~" at the end is the
// beginning of those of an expression.
func shared(all map[string][]*model.Claim) map[string][]*model.Claim {
	for _, claims := range all {
		for _, c := range claims {
			if !strings.HasPrefix(c.Owner.Name, "http") {
				continue
			}
			c.Owner.Kind = "HTTPRoute"
			c.Shared = &model.Shared{Listener: "L1", TakesOver: strings.HasSuffix(c.Owner.Name, "!")}
			c.Backend.Owner = c.Owner
			if path, expression := strings.CutSuffix(c.Path, "~"); expression {
				c.Path, c.Conditions = path, &model.Conditions{Path: &model.PathExpression{Pattern: `\A/v?[0-9]+`, Longest: 1 << 20, Certain: true}}
				c.Shared = &model.Shared{Listener: "L1", Only: model.HTTPSPort}
				c.Termination = model.Edge
				continue
			}
			c.Path = strings.TrimRight(c.Path, "/")
			if strings.HasPrefix(c.Owner.Name, "https") {
				c.Termination, c.Shared.Only = model.Edge, model.HTTPSPort
			}
		}
	}
	return all
}

// tableOf lists which object has each key.
func tableOf(h *admit.Host) (lines []string) {
	names := map[string]string{}
	for _, c := range h.Winners {
		names[c.Backend.Name()] = c.Owner.Name
	}
	add := func(port string, entries []match.Entry) {
		for _, e := range entries {
			for _, value := range match.Values(e.Value) {
				if name := names[value]; name != "" {
					lines = append(lines, port+" "+e.Key+" "+name)
				}
			}
		}
	}
	add("80", h.Table.HTTP)
	add("443", h.Table.HTTPS)
	return lines
}

func TestSharedAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claims string
		table        string
		lost         map[string]string // object → reason and part of the message
	}{
		{"paths of one namespace", "1 a/r h / edge\n2 a/https h /api", "80 h/ r, 443 h/ r, 443 h/api/ https", nil},
		{"the Route goes first", "1 a/https h /\n2 a/r h / edge", "80 h/ r, 443 h/ r", map[string]string{"https": "RouteGoesFirst: route r serves h/ and goes first"}},
		{"a plain Route and port 443", "1 a/r h /\n2 a/https h /", "80 h/ r, 443 h/ https", nil},
		{"taken over at one port", "1 a/r h / edge\n2 a/https! h /", "80 h/ r, 443 h/ https!", map[string]string{"r": "ReplacedByHTTPRoute: HTTPRoute https! serves h/ at port 443"}},
		{"taken over at both ports", "1 a/r h / edge\n2 a/https! h /\n3 a/http! h /", "80 h/ http!, 443 h/ https!", map[string]string{"r": "HostAlreadyClaimed: HTTPRoute http! serves h/, because"}},
		{"another namespace", "1 a/r h / edge\n2 b/https! h /api", "80 h/ r, 443 h/ r", map[string]string{"https!": "NotAllowedByListeners: host h belongs to another namespace"}},
		{"an older one of another namespace", "1 b/https h /api\n2 a/r h / edge", "443 h/api/ https", map[string]string{"r": "HostAlreadyClaimed: a httproute in another namespace holds h"}},
		{"passthrough, older", "1 a/r h - passthrough\n2 a/https! h /", "80 h/ r", map[string]string{"https!": "HostAlreadyClaimed: route r has h, is older"}},
		{"passthrough, younger", "1 a/https h /\n2 a/r h - passthrough", "443 h/ https", map[string]string{"r": "HostAlreadyClaimed: httproute https has h, is older"}},
		{"an expression for the Route's own path", "1 a/r h / edge\n2 a/https h /~", "80 h/ r, 443 h/ r", map[string]string{"https": "RouteGoesFirst: route r serves h/"}},
		{"a longer expression", "1 a/r h / edge\n2 a/https h /v~", "80 h/ r, 443 h/ r, 443 h/v https", nil},
		{"several HTTPRoutes", "1 a/https1 h /\n2 a/https2 h /", "443 h/ https1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := admit.Decide(shared(claims(tt.claims)), false)["h"]
			if diff := cmp.Diff(tt.table, strings.Join(tableOf(h), ", ")); diff != "" {
				t.Error(diff)
			}
			all := map[string]string{}
			for _, list := range []map[model.ClaimID]api.Finding{h.Losers, h.Replaced} {
				for id, f := range list {
					all[id.Owner.Name] = string(f.Reason) + ": " + f.Message
				}
			}
			if len(all) != len(tt.lost) {
				t.Errorf("lost: %v", all)
			}
			for name, want := range tt.lost {
				if !strings.Contains(all[name], want) {
					t.Errorf("%s: %q, want %q", name, all[name], want)
				}
			}
		})
	}
}

// Whether a Route or the HTTPRoutes of its namespace were made first decides nothing between them:
// only passthrough goes by age.
func TestSharedAddressWithoutAge(t *testing.T) {
	t.Parallel()
	dice, mixed := rand.New(rand.NewPCG(7, 11)), 0
	for range 3000 {
		var fixed, routes []string
		add := func(to *[]string, line string) {
			if dice.IntN(2) == 0 {
				*to = append(*to, line)
			}
		}
		path := func() string { return []string{"/", "/a"}[dice.IntN(2)] }
		for age, name := range []string{"http", "https", "http!", "https!"} {
			add(&fixed, fmt.Sprintf("%d a/%s h %s", 2*(age+1), name, path()))
		}
		add(&routes, fmt.Sprintf("a/r h %s %s", path(), []string{"", "edge"}[dice.IntN(2)]))
		add(&routes, fmt.Sprintf("a/s h %s edge", path()))
		decide := func(ages ...int) string {
			text := strings.Join(fixed, "\n")
			for i, r := range routes {
				text += fmt.Sprintf("\n%d %s", ages[i], r)
			}
			if h := admit.Decide(shared(claims(text)), false)["h"]; h != nil {
				return strings.Join(tableOf(h), "\n")
			}
			return ""
		}
		first := 1 + 2*dice.IntN(4)
		if diff := cmp.Diff(decide(1, 1), decide(first, first+2)); diff != "" {
			t.Fatalf("%v %v\n%s", fixed, routes, diff)
		}
		if len(fixed) > 0 && len(routes) > 0 {
			mixed++
		}
	}
	if mixed < 1000 {
		t.Errorf("only %d of the hosts had both kinds", mixed)
	}
}
