package console

import (
	"testing"

	"github.com/fairlead/fairlead/test/browser"
)

// TestOneStream: of several tabs of one browser, one has a stream, and all show a change; when
// that one is closed, another takes its place.
func TestOneStream(t *testing.T) {
	b := browser.Start(t)
	page, source, base := start(t, b)
	tabs := []*browser.Page{page, b.Page(t), b.Page(t)}
	for _, tab := range tabs {
		tab.Look(t, 800, 600, "light")
		tab.Open(t, base+"routes")
		tab.Await(t, "the script runs", runs)
	}
	// A stream that is closed is open for the server until it notices.
	streams := func(tab *browser.Page) {
		t.Helper()
		tab.Await(t, "one stream, and one second later still one", `(async () => {
			const count = async () => (await (await fetch("state")).json());
			const before = await count();
			await new Promise(done => setTimeout(done, 1000));
			const after = await count();
			return before.streams === 1 && after.streams === 1 && after.refused + after.dropped === 0;
		})()`)
	}
	streams(page)
	source.set(t, "renamed")
	for _, tab := range tabs {
		tab.Await(t, "the change, in each tab", `document.querySelector("tbody").textContent.includes("web/renamed")`)
	}
	page.Close(t)
	streams(tabs[1])
	source.set(t, "again")
	for _, tab := range tabs[1:] {
		tab.Await(t, "the next change, in the tabs that are left", `document.querySelector("tbody").textContent.includes("web/again")`)
	}
}
