package render

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/templates"
)

// Pages of routes are data: MapPages says which one a backend shows for a status, and
// MapPageTexts has it in base64. txn.pages is the backend whose pages count, and txn.page
// what is shown. gRPC clients read no pages.

// pageRules find out whether a route has pages, before anything refuses a request of it.
func pageRules() []string {
	return []string{
		"http-request set-var(txn.pages) var(txn.backend) if " + asks(model.FlagPages) + " !{ req.fhdr(content-type) -m beg application/grpc }",
		"http-request set-var(txn.after) bool(true) if { var(txn.pages) -m found }",
	}
}

// pageResponseRules put a page in the place of a pod's answer. A rule that answers has one
// status, so this takes Lua; it comes first, because what it answers no later rule sees.
func pageResponseRules(l Layout) []string {
	const found = " if { var(txn.page) -m found }"
	return []string{
		"http-response set-var(txn.page_status) status if { var(txn.pages) -m found } { status 400:599 }",
		"http-response set-var(txn.page) var(txn.pages),concat(/" + string(model.PageFromPod) + ",txn.page_status),map_beg(" + l.MapFile(plan.MapPages) + ") if { var(txn.page_status) -m found }",
		`http-response set-var-fmt(txn.page_text) "` + pageText(l, "", "") + `"` + found,
		"http-response lua.fairlead_page if { var(txn.page_text) -m found }",
	}
}

// pageAfterRules complete answers that are pages.
func pageAfterRules() []string {
	const page = " if { var(txn.page),field(2,|) -m len gt 0 }"
	return []string{
		"http-after-response set-header Content-Type %[var(txn.page),field(2,|)]" + page,
		"http-after-response set-header Strict-Transport-Security %[var(txn.hsts)]" + page + " { var(txn.hsts) -m found }",
	}
}

// pageText is the page in txn.page, or a text in two parts in its place.
func pageText(l Layout, first, second string) string {
	part := func(n int, otherwise string) string {
		if otherwise != "" {
			otherwise = "," + otherwise
		}
		return fmt.Sprintf("%%[var(txn.page),field(1,|),concat(/%d),map_str(%s%s),b64dec]", n, l.MapFile(plan.MapPageTexts), otherwise)
	}
	return part(1, first) + part(2, second)
}

// pageOr is the page of the router's own answer with a status, or a text in its place: what a log
// format makes of it, which sets txn.page.
func pageOr(l Layout, status int, text string) string {
	first, second := model.PageParts(text)
	found := fmt.Sprintf("var(txn.pages,-),concat(/%s%d),map_beg(%s,-),set-var(txn.page),field(1,|)", model.PageFromRouter, status, l.MapFile(plan.MapPages))
	return strings.Replace(pageText(l, first, second), "var(txn.page),field(1,|)", found, 1)
}

// ownAnswer is how a rule of the router answers with a text of its own, or with the route's
// page.
func ownAnswer(l Layout, caps plan.Capabilities, status int, text string) string {
	return fmt.Sprintf("return status %d %s", status, ownText(l, caps, status, text))
}

// ownText is the body of such an answer.
func ownText(l Layout, caps plan.Capabilities, status int, text string) string {
	if !caps.PlainLogFormat {
		return "content-type text/plain string " + quote(text)
	}
	return `content-type text/plain lf-string "` + pageOr(l, status, text) + `"`
}

// Answers of HAProxy itself, in its own words (3.2 to 3.4).
var ownErrors = []struct {
	status      int
	name, text  string
	ofPods, own bool
}{
	{403, "403 Forbidden", "Request forbidden by administrative rules.", false, true},
	{429, "429 Too Many Requests", "You have sent too many requests in a given amount of time.", false, true},
	{502, "502 Bad Gateway", "The server returned an invalid or incomplete response.", true, false},
	{503, "503 Service Unavailable", "No server is available to handle this request.", false, true},
	{504, "504 Gateway Time-out", "The server didn't respond in time.", true, false},
}

func (l Layout) errorFile(status int) string {
	return filepath.Join(l.PagesDir(), "error-"+strconv.Itoa(status)+".txt")
}

// ownErrorOptions have HAProxy answer with pages of routes: in frontends, or in the
// profiles of their backends.
func ownErrorOptions(s Settings, l Layout, caps plan.Capabilities, profile bool) []string {
	var lines []string
	for _, e := range ownErrors {
		if caps.PlainLogFormat && (profile && e.ofPods || !profile && e.own) {
			lines = append(lines, fmt.Sprintf("http-error status %d content-type text/html hdr Cache-Control no-cache lf-file %s", e.status, l.errorFile(e.status)))
		}
	}
	if !profile {
		return lines
	}
	if u, ok := unavailable(s); ok && caps.PlainLogFormat {
		return append(lines, "http-error status 503 content-type "+quote(u.kind)+u.headers+" lf-file "+l.unavailableFile())
	}
	return append(lines, "errorfile 503 "+filepath.Join(l.PagesDir(), "503.http"))
}

func (l Layout) unavailableFile() string { return filepath.Join(l.PagesDir(), "503.txt") }

// pageFiles are what these name, and the page of maintenance.
func pageFiles(s Settings, l Layout, caps plan.Capabilities) map[string]string {
	files := map[string]string{}
	if !caps.PlainLogFormat {
		return files
	}
	for _, e := range ownErrors {
		files[l.errorFile(e.status)] = pageOr(l, e.status, "<html><body><h1>"+e.name+"</h1>\n"+e.text+"\n</body></html>\n")
	}
	if u, ok := unavailable(s); ok {
		files[l.unavailableFile()] = pageOr(l, 503, u.body)
	}
	files[l.maintenanceFile()] = pageOr(l, 503, string(templates.Maintenance))
	return files
}

// answer is a whole HTTP answer in parts: headers are those of a rule.
type answer struct{ kind, headers, body string }

// unavailable is the page for backends without servers, and false where it is not one that
// "http-error" can answer with: those of administrators may be anything that
// "errorfile" takes.
func unavailable(s Settings) (answer, bool) {
	text := s.Pages.Unavailable
	if text == "" {
		text = string(templates.Unavailable)
	}
	head, body, ok := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	lines := strings.Split(head, "\n")
	a := answer{kind: "text/html", body: body}
	if status := strings.Fields(lines[0]); !ok || len(status) < 2 || status[1] != "503" || len(body) > model.MaxPage {
		return a, false
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || CheckText(line) != nil || checkPlain(name) != nil || value == "" {
			return a, false
		}
		switch lower(name) {
		case "content-type":
			a.kind = value
		case "connection", "content-length", "transfer-encoding":
		default:
			a.headers += " hdr " + quote(name) + " " + quote(strings.ReplaceAll(value, "%", "%%"))
		}
	}
	return a, true
}
