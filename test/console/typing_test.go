package console

import (
	"testing"

	"github.com/fairlead/fairlead/test/browser"
)

// TestTyping: what is typed into the filter chooses rows at once, without another page; a text that
// is not understood yet changes nothing, and the address is that of what is shown.
func TestTyping(t *testing.T) {
	b := browser.Start(t)
	page, source, base := start(t, b)
	page.Open(t, base+"routes")
	page.Await(t, "the script runs", runs)
	page.Eval(t, `(window.samePage = true)`)
	all := page.Eval(t, `document.querySelectorAll("tbody tr").length`)
	page.Key(t, "/")
	page.Await(t, "the filter has the focus", `document.activeElement.id === "q"`)
	rows := func(what, expression, search string) {
		t.Helper()
		page.Await(t, what, `window.samePage && document.activeElement.id === "q" && (`+expression+`) && location.search === "`+search+`"`)
	}
	page.Type(t, "cart-co")
	rows("one row", `document.querySelectorAll("tbody tr").length === 1 && document.querySelector("tbody th a").textContent === "web/cart-copy"`, "?q=cart-co")
	page.Await(t, "how many there are, for a screen reader", `document.querySelector(".unseen[role=status]").textContent.startsWith("1 to 1 of 1 ")`)
	page.Type(t, "py state:")
	page.Await(t, "the text", `document.activeElement.value === "cart-copy state:"`)
	page.Type(t, "refused")
	rows("the row, with its state", `document.querySelectorAll("tbody tr").length === 1`, "?q=cart-copy+state%3Arefused")
	page.Type(t, "x")
	page.Type(t, "y")
	page.Eval(t, `new Promise(done => setTimeout(done, 300))`)
	rows("what is not understood changes nothing", `document.querySelectorAll("tbody tr").length === 1 && document.querySelector("[aria-invalid]") === null`, "?q=cart-copy+state%3Arefused")
	page.Press(t, "Enter", false)
	await(t, page, "what is wrong with it, when it is asked for", `document.getElementById("q-problem") !== null && document.getElementById("q").value === "cart-copy state:refusedxy"`)
	page.Eval(t, `(window.samePage = true)`)
	page.Eval(t, `(document.getElementById("q").focus(), document.getElementById("q").select(), true)`)
	page.Type(t, "w")
	rows("nothing is wrong any more", `document.getElementById("q-problem") === null && document.querySelector("[aria-invalid]") === null`, "?q=w")
	page.Press(t, "Backspace", false)
	rows("all rows", `document.querySelectorAll("tbody tr").length === `+all, "?q=")
	page.Eval(t, `(document.activeElement.blur(), true)`)
	source.set(t, "renamed")
	page.Await(t, "a change, after that", `window.samePage && document.querySelector("tbody").textContent.includes("web/renamed")`)
	for _, name := range []string{"certs", "gateways", "events", "addresses"} {
		page.Open(t, base+name)
		page.Await(t, "the script runs", runs)
		page.Eval(t, `(window.samePage = true, document.getElementById("q").focus(), true)`)
		page.Type(t, "nothing-like-this")
		rows("an empty list of "+name, `document.querySelector("tbody") === null || document.querySelectorAll("tbody tr").length < 2`, "?q=nothing-like-this")
	}
}
