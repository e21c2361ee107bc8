package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/test/browser"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// account is the one user of a cluster, whose token ends.
type account struct {
	sees []string
	gone atomic.Bool
}

func (a *account) Review(_ context.Context, token string) (console.Identity, error) {
	if token != "the-token" || a.gone.Load() {
		return console.Identity{}, console.ErrRefused
	}
	return console.Identity{Name: "system:serviceaccount:web:viewer"}, nil
}

func (a *account) MaySee(_ context.Context, _ console.Identity, namespace string) (bool, error) {
	return slices.Contains(a.sees, namespace), nil
}

// userPages are those of a user of the cluster who does not see all, with their tables.
var userPages = []string{
	"", "routes", "routes?q=state:refused", "routes/web/cart", "routes/web/cart-copy", "gateways", "httproutes/web/basket", "hosts/www.example.com", "certs", "addresses", "events",
	"ask?url=https://www.example.com/cart/1", "settings", "routes/other/hidden",
}

// accessiblePage has axe-core look at a page, wide and narrow, in light, dark and forced colours; Tab
// comes to everything, and nothing but tables is wider than the window.
func accessiblePage(t *testing.T, page *browser.Page, where string) {
	t.Helper()
	path, err := toolset.AxePath()
	if err != nil {
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct {
		width          int
		scheme, forced string
		run            string
		least          int
	}{{1280, "light", "none", axeRun, 5}, {320, "light", "none", axeRun, 5}, {320, "dark", "none", axeColours, 1}, {320, "light", "active", axeColours, 1}} {
		page.Look(t, look.width, 900, look.scheme)
		page.Prefer(t, map[string]string{"prefers-color-scheme": look.scheme, "forced-colors": look.forced})
		at := fmt.Sprintf("%s at %d px, %s, forced colours %s", where, look.width, look.scheme, look.forced)
		axe(t, page, string(script), look.run, at, look.least)
		if look.width == 320 {
			if got := page.Eval(t, "document.documentElement.scrollWidth"); got != "320" {
				t.Errorf("%s: %s pixels wide", at, got)
			}
		}
	}
	tabs(t, page, where)
	page.Look(t, 1280, 900, "light")
}

// leaveByKeyboard logs a user out and in again with the keyboard alone.
func leaveByKeyboard(t *testing.T, page *browser.Page, base string, later *atomic.Int64) {
	t.Helper()
	later.Add(int64(time.Minute)) // so many log-ins are possible again
	page.Open(t, base+"routes")
	page.Await(t, "the script runs", runs)
	tabTo(t, page, "Log out")
	page.Press(t, "Enter", false)
	page.Await(t, "the log-in, after the log-out", `location.pathname.endsWith("/login") && document.getElementById("token") !== null`)
	tabTo(t, page, "token")
	page.Type(t, "the-token")
	tabTo(t, page, "Log in")
	page.Press(t, "Enter", false)
	await(t, page, "the overview, by keyboard", `document.querySelector("h1").textContent === "Overview"`)
	page.Open(t, base+"routes")
	page.Await(t, "the script runs", runs)
}

// TestCluster: a user logs in with a token, sees what is of its namespace, follows changes, logs out,
// and has the log-in before it once the token has ended.
func TestCluster(t *testing.T) {
	b := browser.Start(t)
	source, user := &shown{}, &account{sees: []string{"web"}}
	source.set(t, "cart-copy")
	var later atomic.Int64
	entrance, err := console.NewEntrance(console.Options{
		Source: source, Cluster: true, Fresh: 200 * time.Millisecond, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	}, console.EntranceOptions{Base: "/fairlead/", Rights: user, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewTLSServer(entrance)
	defer site.Close()
	page := b.Page(t)
	page.AnyCertificate(t)
	page.Look(t, 1280, 900, "light")
	page.Open(t, site.URL+"/fairlead/routes")
	page.Await(t, "the log-in", `location.pathname === "/fairlead/login" && document.querySelector("h1").textContent.startsWith("Log in")`)
	accessible := func(where string) { t.Helper(); accessiblePage(t, page, where) }
	accessible("the log-in")
	login := func(token string) {
		page.Eval(t, `(document.getElementById("token").value = "`+token+`", document.getElementById("token").form.requestSubmit(), true)`)
	}
	login("another-token")
	page.Await(t, "why it was refused", `document.getElementById("problem") !== null && document.getElementById("problem").textContent.includes("You are not logged in")`)
	accessible("a refused log-in")
	login("the-token")
	await(t, page, "the overview", `document.querySelector("h1").textContent === "Overview"`)
	accessible("the overview of a user")
	if got := page.Eval(t, `document.cookie + "|" + document.querySelector(".leave span").textContent`); got != "|system:serviceaccount:web:viewer" {
		t.Errorf("a script sees %s", got)
	}
	if got := page.Eval(t, `[...document.querySelectorAll("nav a")].map(a => a.textContent).join(" ")`); strings.Contains(got, "Settings") {
		t.Errorf("the menu is %s", got)
	}
	for _, name := range userPages {
		page.Open(t, site.URL+"/fairlead/"+name)
		await(t, page, "page "+name, `document.getElementById("content") !== null`)
		accessible("page " + name + " of a user")
	}
	page.Look(t, 1280, 900, "light")
	page.Open(t, site.URL+"/fairlead/routes")
	await(t, page, "the Routes", `document.querySelector("tbody").textContent.includes("web/cart-copy")`)
	if got := page.Eval(t, `[...document.querySelectorAll("tbody th a")].map(a => a.textContent.split("/")[0]).filter(n => n !== "web").join(" ")`); got != "" {
		t.Errorf("Routes of other namespaces are listed: %s", got)
	}
	source.set(t, "renamed")
	page.Await(t, "the change, without a click", `document.querySelector("tbody").textContent.includes("web/renamed")`)
	leaveByKeyboard(t, page, site.URL+"/fairlead/", &later)
	later.Add(int64(2 * time.Minute))
	user.gone.Store(true)
	source.set(t, "unseen") // so that the page asks for its content
	page.Await(t, "the log-in, once the token has ended", `location.pathname === "/fairlead/login" && document.querySelector("tbody") === null`)
	user.gone.Store(false)
	login("the-token")
	await(t, page, "the overview again", `document.querySelector("h1").textContent === "Overview"`)
	page.Eval(t, click(".leave button"))
	page.Await(t, "the log-in, after the log-out", `location.pathname === "/fairlead/login" && document.getElementById("token") !== null`)
	page.Open(t, site.URL+"/fairlead/routes")
	page.Await(t, "the log-in instead of Routes", `location.pathname === "/fairlead/login"`)
}
