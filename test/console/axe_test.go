package console

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/browser"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// everyPage are pages of all templates, in the states that they can have.
var everyPage = []string{
	"", "routes", "routes?q=nothing-like-this", "routes?q=nothing:x", "routes?q=state:refused&sort=-host", "routes/web/cart", "routes/web/cart-copy", "routes/web/none",
	"gateways", "gateways?q=state:refused", "gateways/infra/public", "listenersets/web/team", "httproutes/web/basket", "httproutes/web/basket-copy", "httproutes/web/elsewhere", "tcproutes/web/mqtt",
	"hosts/www.example.com", "hosts/basket.example.com", "ask", "ask?url=https://www.example.com/cart/1", "ask?url=http://www.example.com/cart", "ask?url=x",
	"ask?gateway=infra/public&url=http://basket.example.com/basket", "certs", "settings",
	"addresses", "addresses?q=not-announced", "addresses?q=nothing-like-this", "events", "events?q=type:normal", "events?q=x:y",
}

// axeRun finds what is wrong with a page, by the rules of WCAG 2.2 AA and by what axe-core's
// authors advise.
const axeRun = `axe.run(document, {preload: false, runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}})
	.then(r => JSON.stringify({passes: r.passes.length, wrong: r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html + " " + n.failureSummary)}))}))`

// axeColours is axeRun with the rules to which colours make a difference, and nothing else does.
const axeColours = `axe.run(document, {preload: false, runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}})
	.then(r => JSON.stringify({passes: r.passes.length, wrong: r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html + " " + n.failureSummary)}))}))`

// TestAxe: axe-core finds nothing on any page, in light, dark and forced colours, wide and
// narrow.
func TestAxe(t *testing.T) {
	b := browser.Start(t)
	path, err := toolset.AxePath()
	if err != nil {
		t.Skip(err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, _, base := start(t, b)
	checks := 0
	for _, look := range []struct {
		scheme, forced string
		width          int
		run            string
		least          int // rules that must have passed
	}{
		{"light", "none", 1280, axeRun, 10},
		{"dark", "none", 1280, axeColours, 1},
		{"light", "active", 1280, axeColours, 1},
		{"dark", "active", 768, axeRun, 10},
		{"light", "none", 320, axeRun, 10},
		{"dark", "none", 320, axeColours, 1},
	} {
		page.Look(t, look.width, 800, look.scheme)
		page.Prefer(t, map[string]string{"prefers-color-scheme": look.scheme, "forced-colors": look.forced})
		for _, name := range everyPage {
			page.Open(t, base+name)
			page.Await(t, "the script runs", runs)
			page.Eval(t, `(document.querySelectorAll("details").forEach(d => d.open = true), true)`)
			where := fmt.Sprintf("%s at %d px, %s, forced colours %s", name, look.width, look.scheme, look.forced)
			checks += axe(t, page, string(script), look.run, where, look.least)
			if name == "routes" {
				page.Eval(t, `(document.getElementById("keys").showModal(), true)`)
				checks += axe(t, page, string(script), look.run, where+", help of keys", look.least)
			}
		}
	}
	t.Logf("%d checks passed", checks)
}

// axe checks a page, and returns how many rules it has passed.
func axe(t *testing.T, page *browser.Page, script, run, where string, least int) int {
	t.Helper()
	if got := page.Eval(t, `(typeof axe === "object" || ((() => {`+script+"\n})(), true), true)"); got != "true" {
		t.Fatalf("%s: axe-core does not start: %.500s", where, got)
	}
	var report struct {
		Passes int
		Wrong  []struct {
			ID, Help string
			Nodes    []string
		}
	}
	text := page.Eval(t, run)
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.Passes < least {
		t.Fatalf("%s: %v, %d rules passed: %.500s", where, err, report.Passes, text)
	}
	for _, w := range report.Wrong {
		t.Errorf("%s: %s: %s\n%s", where, w.ID, w.Help, strings.Join(w.Nodes[:min(3, len(w.Nodes))], "\n"))
	}
	return report.Passes
}

// TestAxeFinds: a page with faults has findings, so that a check without any says something.
func TestAxeFinds(t *testing.T) {
	b := browser.Start(t)
	path, err := toolset.AxePath()
	if err != nil {
		t.Skip(err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, _, base := start(t, b)
	page.Open(t, base+"routes")
	page.Eval(t, `(document.documentElement.removeAttribute("lang"), document.querySelector("label[for=q]").remove(), document.getElementById("q").removeAttribute("placeholder"), true)`)
	page.Eval(t, `((() => {`+string(script)+"\n})(), true)")
	text := page.Eval(t, axeRun)
	for _, id := range []string{"html-has-lang", `"label"`} {
		if !strings.Contains(text, id) {
			t.Errorf("axe-core does not find %s: %.500s", id, text)
		}
	}
}
