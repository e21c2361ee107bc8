package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scene changes a healthy cluster.
type scene func(*testing.T, *Snapshot)

// rulings are, for each rule, a cluster in which it finds something, with the state of that
// and a part of its summary, and one that looks like it and is right.
type ruling struct {
	bad   scene
	state State
	says  string
	fine  scene
}

func rulings() map[string]ruling {
	all := map[string]ruling{}
	for _, group := range []map[string]ruling{
		installationRulings(), certificateRulings(), routerRulings(), routeRulings(), addressRulings(), nameRulings(), ingressRulings(), reachRulings(), capacityRulings(),
	} {
		for id, r := range group {
			if _, twice := all[id]; twice {
				panic(id)
			}
			all[id] = r
		}
	}
	return all
}

// TestRules: each rule finds what it is for, and is silent where nothing is wrong.
func TestRules(t *testing.T) {
	t.Parallel()
	cases := rulings()
	for _, rule := range Rules() {
		c, ok := cases[rule.ID]
		if !ok {
			t.Errorf("%s has no case", rule.ID)
			continue
		}
		delete(cases, rule.ID)
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			if got := rule.apply(healthy(t)); len(got) != 1 || got[0].State != OK {
				t.Errorf("a healthy cluster: %+v", got)
			}
			s := healthy(t)
			c.bad(t, s)
			got := rule.apply(s)
			if got[0].State != c.state || !strings.Contains(got[0].Summary, c.says) || got[0].Remedy == "" {
				t.Errorf("got %+v, want %s, %q and a remedy", got, c.state, c.says)
			}
			s = healthy(t)
			c.fine(t, s)
			if got := rule.apply(s); len(got) != 1 || got[0].State != OK {
				t.Errorf("nothing is wrong: %+v", got)
			}
		})
	}
	for id := range cases {
		t.Errorf("%s has a case and no rule", id)
	}
}

// TestUnread: a rule says nothing about what could not be read, neither good nor bad.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		if len(rule.Needs) == 0 {
			t.Errorf("%s needs no source", rule.ID)
		}
		for _, source := range rule.Needs {
			s := &Snapshot{Now: now, Here: now, Sources: map[Source]Reading{source: {Why: "you have no right to"}}}
			if got := rule.apply(s); len(got) != 1 || got[0].State != Unknown || !strings.Contains(got[0].Summary, string(source)) {
				t.Errorf("%s without %s: %+v", rule.ID, source, got)
			}
			s.Sources[source] = Reading{Why: "--probe is none", Skipped: true}
			if got := rule.apply(s); got[0].State != Skipped {
				t.Errorf("%s, skipped %s: %+v", rule.ID, source, got)
			}
		}
	}
}

// TestEmptyCluster: a rule whose sources are all read, and empty, does not fail to judge.
func TestEmptyCluster(t *testing.T) {
	t.Parallel()
	r := Judge(&Snapshot{Now: now, Here: now})
	if r.Verdict != Unhealthy || r.Count(Unknown) > 0 {
		t.Errorf("%+v", r)
	}
}

var (
	ids      = regexp.MustCompile(`^FL[0-7]\d\d$`)
	headings = []string{"## Meaning", "## Effect", "## Check", "## Repair"}
)

// TestPages: each rule has a page of its form, and each page a rule; the table of
// docs/checks/README.md has them all.
func TestPages(t *testing.T) {
	t.Parallel()
	const folder = "../docs/checks"
	table, err := os.ReadFile(folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, rule := range Rules() {
		known[rule.ID+".md"] = true
		if !ids.MatchString(rule.ID) {
			t.Errorf("%q is no id", rule.ID)
		}
		page, err := os.ReadFile(filepath.Join(folder, rule.ID+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(page), "# "+rule.ID+": "+rule.Title+"\n\n") {
			t.Errorf("%s: the first line is not \"# %s: %s\"", rule.ID, rule.ID, rule.Title)
		}
		var found []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "## ") {
				found = append(found, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(found, headings) {
			t.Errorf("%s: headings %q, want %q", rule.ID, found, headings)
		}
		row := fmt.Sprintf("| [%s](%s.md) | %s | %s |", rule.ID, rule.ID, rule.State, rule.Title)
		if !strings.Contains(string(table), row+"\n") {
			t.Errorf("docs/checks/README.md has no line\n%s", row)
		}
	}
	if len(known) < 40 || len(known) != len(Rules()) {
		t.Errorf("%d ids of %d rules", len(known), len(Rules()))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] && e.Name() != "README.md" {
			t.Errorf("%s has no rule", e.Name())
		}
	}
	if got := strings.Count(string(table), "](FL"); got != len(known) {
		t.Errorf("docs/checks/README.md names %d checks, and there are %d", got, len(known))
	}
}
