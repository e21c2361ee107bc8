package console

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/browser"
)

// focus is what the keyboard is at: its text, or what is wrong with how that is shown.
const focus = `(() => {
	const at = document.activeElement;
	if (at === null || at === document.body) { return "none"; }
	const look = getComputedStyle(at), box = [...at.getClientRects()].find(r => r.width > 0) || at.getBoundingClientRect();
	const text = (at.id || at.textContent.trim()).slice(0, 60);
	if (at.id !== "main" && (look.outlineStyle === "none" || parseFloat(look.outlineWidth) < 2)) { return "invisible: " + text; }
	if (box.width === 0 || box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight) { return "outside: " + text; }
	const x = Math.min(Math.max(box.left + Math.min(box.width, 40) / 2, 0), innerWidth - 1), y = Math.min(Math.max(box.top + Math.min(box.height, 20) / 2, 0), innerHeight - 1);
	const top = document.elementFromPoint(x, y);
	if (top === null || !(at.contains(top) || top.contains(at))) { return "covered: " + text; }
	return "at: " + text;
})()`

// focusable counts what Tab should come to.
const focusable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility() && !e.disabled).length`

// TestTabs goes through every page by Tab alone: each link, field and wide table is reached
// once, shows that it has the focus, and is not covered; there is no trap.
func TestTabs(t *testing.T) {
	b := browser.Start(t)
	page, _, base := start(t, b)
	for _, look := range []struct {
		width  int
		forced string
	}{{1280, "none"}, {320, "active"}} {
		page.Look(t, look.width, 700, "light")
		page.Prefer(t, map[string]string{"forced-colors": look.forced})
		for _, name := range everyPage {
			page.Open(t, base+name)
			page.Await(t, "the script runs", runs)
			tabs(t, page, fmt.Sprintf("%s at %d px", name, look.width))
		}
	}
}

func tabs(t *testing.T, page *browser.Page, where string) {
	t.Helper()
	want, err := strconv.Atoi(page.Eval(t, focusable))
	if err != nil {
		t.Fatal(err)
	}
	page.Eval(t, `(document.activeElement.blur(), getSelection().removeAllRanges(), true)`)
	reached := 0
	for range want + 5 {
		page.Press(t, "Tab", false)
		at := page.Eval(t, focus)
		if at == "none" {
			break
		}
		if reached++; !strings.HasPrefix(at, "at: ") {
			t.Errorf("%s: the focus is %s", where, at)
		}
	}
	if reached != want {
		t.Errorf("%s: Tab comes to %d of %d", where, reached, want)
	}
}

// tabTo presses Tab until the focus is at a text.
func tabTo(t *testing.T, page *browser.Page, text string) {
	t.Helper()
	for range 200 {
		page.Press(t, "Tab", false)
		if page.Eval(t, `document.activeElement.textContent.trim() || document.activeElement.id`) == text {
			return
		}
	}
	t.Fatalf("Tab does not come to %q at %s", text, page.Eval(t, "location.href"))
}

// TestKeyboard does what users come for with the keyboard alone: find a refused Route, read its
// remedy, ask a URL and see the Route that loses, find the listener that is refused and why,
// open the help and close it, and choose colours, which hold.
func TestKeyboard(t *testing.T) {
	b := browser.Start(t)
	page, _, _ := start(t, b)
	heading := func(text string) {
		t.Helper()
		await(t, page, "the page "+text, fmt.Sprintf(`document.querySelector("h1").textContent === %q`, text))
	}
	says := func(text string) {
		t.Helper()
		await(t, page, text, fmt.Sprintf(`document.querySelector("main").textContent.includes(%q)`, text))
	}
	heading("Overview")
	tabTo(t, page, "Routes")
	page.Press(t, "Enter", false)
	heading("Routes")
	page.Key(t, "/")
	await(t, page, "the filter has the focus", `document.activeElement.id === "q"`)
	page.Type(t, "state:refused kind:route")
	page.Press(t, "Enter", false)
	await(t, page, "the refused Route", `document.querySelectorAll("tbody tr").length === 1`)
	tabTo(t, page, "web/cart-copy")
	page.Press(t, "Enter", false)
	heading("Route web/cart-copy")
	says("choose another host or path")
	page.Key(t, "g")
	page.Key(t, "a")
	heading("Ask a URL")
	tabTo(t, page, "url")
	page.Type(t, "https://www.example.com/cart/1")
	page.Press(t, "Enter", false)
	says("HostAlreadyClaimed")
	page.Key(t, "g")
	page.Key(t, "w")
	heading("Gateways")
	tabTo(t, page, "State")
	page.Press(t, "Enter", false)
	await(t, page, "the worst listener first", `document.querySelector("tbody .state").textContent === "refused" && location.search === "?sort=state"`)
	tabTo(t, page, "infra/public")
	page.Press(t, "Enter", false)
	heading("Gateway infra/public")
	says("not PEM text")
	tabTo(t, page, "Show the YAML")
	page.Press(t, "Enter", false)
	await(t, page, "the manifest", `document.querySelector("details").open`)
	page.Key(t, "?")
	await(t, page, "the help is open", `document.getElementById("keys").open`)
	page.Press(t, "Escape", false)
	await(t, page, "the help is closed", `!document.getElementById("keys").open`)
	tabTo(t, page, "of the systemlightdark")
	page.Key(t, "d")
	await(t, page, "dark colours", `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`)
	page.Open(t, page.Eval(t, "location.href"))
	await(t, page, "the choice holds", `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`)
}

// TestKeyboardTasks: with the keyboard alone, users narrow a list, open a Route of it, go back to
// the list as it was, follow the Route's host, and ask one of its URLs.
func TestKeyboardTasks(t *testing.T) {
	for _, width := range []int{1280, 320} {
		b := browser.Start(t)
		page, _, base := start(t, b)
		page.Look(t, width, 700, "light")
		page.Open(t, base+"routes")
		page.Await(t, "the script runs", runs)
		page.Key(t, "/")
		page.Await(t, "the filter has the focus", `document.activeElement.id === "q"`)
		page.Type(t, "cart -copy kind:route")
		page.Await(t, "one row", `document.querySelectorAll("tbody tr").length === 1 && location.search.includes("cart")`)
		tabTo(t, page, "web/cart")
		page.Press(t, "Enter", false)
		await(t, page, "the Route", `document.querySelector("h1").textContent === "Route web/cart"`)
		page.Eval(t, `(history.back(), true)`) // which browsers have a key for
		await(t, page, "the list as it was", `document.querySelectorAll("tbody tr").length === 1 && document.getElementById("q").value === "cart -copy kind:route"`)
		tabTo(t, page, "www.example.com")
		page.Press(t, "Enter", false)
		await(t, page, "the host", `document.querySelector("h1").textContent === "Host www.example.com"`)
		tabTo(t, page, "https://www.example.com/")
		page.Press(t, "Enter", false)
		await(t, page, "what becomes of its URL", `document.querySelector("h1").textContent === "Ask a URL" && document.querySelector(".steps li") !== null`)
		tabTo(t, page, "Skip to the content")
		page.Press(t, "Enter", false)
		await(t, page, "the content has the focus", `document.activeElement.id === "main"`)
		page.Close(t)
	}
}

// coloured marks what has a background of its own.
const coloured = `(() => {
	const plain = ["rgba(0, 0, 0, 0)", getComputedStyle(document.body).backgroundColor];
	const all = [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && !plain.includes(getComputedStyle(e).backgroundColor));
	all.forEach(e => { e.dataset.coloured = ""; });
	return all.length;
})()`

// bare are those of them that have neither a line nor a field's frame where backgrounds are gone.
const bare = `[...document.querySelectorAll("[data-coloured]")].filter(e => {
	const s = getComputedStyle(e);
	return !["Top", "Right", "Bottom", "Left"].some(side => s["border" + side + "Style"] !== "none" && parseFloat(s["border" + side + "Width"]) >= 1 && s["border" + side + "Color"] !== s.backgroundColor);
}).map(e => e.outerHTML.slice(0, 120)).join("\n")`

// unmarked are states without their sign or their word.
const unmarked = `[...document.querySelectorAll(".state")].filter(e => e.textContent.length < 2 || !/[○✓!✕]/.test(getComputedStyle(e, "::before").content)).map(e => e.outerHTML).join("\n")`

// TestForcedBackgrounds: where the system chooses all colours, what had a background of its own
// has a line, and states have their signs and words, on every page.
func TestForcedBackgrounds(t *testing.T) {
	b := browser.Start(t)
	page, _, base := start(t, b)
	for _, name := range everyPage {
		page.Prefer(t, map[string]string{"forced-colors": "none"})
		page.Open(t, base+name)
		page.Await(t, "the script runs", runs)
		page.Eval(t, `(document.querySelectorAll("details").forEach(d => d.open = true), true)`)
		page.Eval(t, `((() => { const b = document.createElement("b"); b.id = "proof"; b.className = "warn"; b.textContent = "seen"; document.getElementById("content").append(b); })(), true)`)
		page.Eval(t, coloured)
		page.Prefer(t, map[string]string{"forced-colors": "active"})
		if got := page.Eval(t, `matchMedia("(forced-colors: active)").matches`); got != "true" {
			t.Fatal("colours are not forced")
		}
		if got := page.Eval(t, bare); !strings.HasPrefix(got, `<b id="proof"`) || strings.Contains(got, "\n") {
			t.Errorf("%s: told by a background only, beside the one that the test has added: %s", name, got)
		}
		if got := page.Eval(t, unmarked); got != "" {
			t.Errorf("%s: a state without a sign or a word: %s", name, got)
		}
	}
}

// TestForcedColours: states are words, and borders remain, where the system chooses all colours.
func TestForcedColours(t *testing.T) {
	b := browser.Start(t)
	page, _, base := start(t, b)
	page.Prefer(t, map[string]string{"forced-colors": "active"})
	page.Open(t, base+"routes")
	if got := page.Eval(t, `[...document.querySelectorAll("tbody .state")].every(e => e.textContent.length > 3 && getComputedStyle(e).borderTopStyle === "solid" && getComputedStyle(e).color === getComputedStyle(document.body).color)`); got != "true" {
		t.Errorf("states: %s", got)
	}
	if got := page.Eval(t, `getComputedStyle(document.querySelector("nav [aria-current]")).textDecorationLine`); got != "underline" {
		t.Errorf("the current page of the menu is marked by %s", got)
	}
}
