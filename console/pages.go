package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// visit is a request for a page.
type visit struct {
	*pages
	// parts are those of the path after the name of the page, unescaped.
	parts  []string
	values url.Values
	// kept and world are what the viewer may see.
	kept   kept[world]
	world  *world
	viewer *viewer
	r      *http.Request
	// pending says that a part of the page is still being read.
	pending bool
}

// answer is a page to be shown.
type answer struct {
	// name is that of the template, title that of the page.
	name, title string
	status      int // 0 is 200
	line        Line
	data        any
}

// page is what the layout shows.
type page struct {
	Base, Title string
	// Here is the entry of the menu that is the current one.
	Here string
	// Command gives the same answer on a terminal; it may be empty.
	Command string
	// Generation and Age are those of what is shown; Problem says why it is not newer.
	Generation int
	Age        string
	Problem    string
	// Every is after how many seconds a page is read again that shows more than the objects;
	// 0 is not at all.
	Every int
	// Notes say what could not be read, NotesMore how many are left out.
	Notes     []string
	NotesMore int
	Menu      []entry
	// User is whose request it is, empty for a console of one user.
	User string
	// Leaves says that the user can log out.
	Leaves bool
	Keys   [][2]string
	Data   any
}

// entry is one of the menu.
type entry struct{ Name, Title, Key string }

// menu are the pages, in order.
func menu() []entry {
	return []entry{{"", "Overview", "o"}, {"routes", "Routes", "r"}, {"gateways", "Gateways", "w"}, {"ask", "Ask a URL", "a"}, {"certs", "Certificates", "c"}, {"addresses", "Addresses", "d"}, {"events", "Events", "e"}, {"settings", "Settings", "s"}}
}

// ServeHTTP implements http.Handler.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), p.base), "/")
	for i := range parts {
		text, err := url.PathUnescape(parts[i])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		parts[i] = text
	}
	if parts[0] == "static" && len(parts) == 2 {
		p.asset(w, r, parts[1])
		return
	}
	v := &visit{pages: p, parts: parts[1:], values: r.URL.Query(), r: r}
	err := v.narrow()
	switch {
	case err != nil:
		v.world, v.kept.value, v.kept.err = nil, nil, nil
		v.show(w, parts[0], answer{name: "trouble", title: "Nothing can be shown", status: http.StatusServiceUnavailable, data: problemText(err)})
	case parts[0] == "state":
		v.state(w)
	case parts[0] == "live":
		v.live(w)
	case v.world == nil:
		v.show(w, parts[0], answer{name: "trouble", title: "Nothing is known yet", status: http.StatusServiceUnavailable, data: problemText(v.kept.err)})
	case parts[0] == "routes.csv" || parts[0] == "routes.json":
		v.export(w, parts[0])
	default:
		v.show(w, parts[0], v.answer(parts[0]))
	}
}

// answer returns the page of a name.
func (v *visit) answer(name string) answer {
	n := len(v.parts)
	switch {
	case name == "" && n == 0:
		return v.overview()
	case name == "certs" && n == 0:
		return v.certs()
	case name == "addresses" && n == 0:
		return v.network()
	case name == "events" && n == 0:
		return v.events()
	case name == "settings" && n == 0 && v.viewer.all:
		return v.settings()
	case name == "routes" && n == 0:
		return v.routes()
	case name == "gateways" && n == 0:
		return v.gateways()
	case objectKinds()[name] != "" && n == 2:
		return v.gatewayObject(objectKinds()[name], v.parts[0], v.parts[1])
	case name == "routes" && n == 2:
		return v.route(v.parts[0], v.parts[1])
	case name == "hosts" && n == 1:
		return v.host(v.parts[0])
	case name == "ask" && n == 0:
		return v.askPage()
	}
	return missing("There is no such page.")
}

// missing is the page for what is not there.
func missing(text string) answer {
	return answer{name: "missing", title: "Not found", status: http.StatusNotFound, data: text}
}

// notesShown is how many notes a page shows.
const notesShown = 20

// show writes a page.
func (v *visit) show(w http.ResponseWriter, here string, a answer) {
	p := page{Base: v.base, Title: a.title, Here: here, Menu: menu(), Data: a.data, Problem: problemText(v.kept.err), User: v.viewer.name, Leaves: v.leaves}
	if !v.viewer.all {
		p.Menu = slices.DeleteFunc(p.Menu, func(e entry) bool { return e.Name == "settings" }) // which are of the whole cluster
	}
	if v.options.Cluster && (a.name == "addresses" || a.name == "events" || a.name == "overview") {
		p.Every = int(streamComment / time.Second)
		if v.pending {
			p.Every = int(partEvery / time.Second)
		}
	}
	if v.options.Command != nil && a.line.Command != "" {
		p.Command = v.options.Command(a.line)
	}
	if v.world != nil {
		p.Generation, p.Age = v.world.generation, ageText(v.kept.age)
		p.Notes = v.world.notes
		if v.viewer.cut {
			p.Notes = append([]string{fmt.Sprintf("your rights were asked about for the first %d namespaces: what others have is not shown", reviewsOfUser)}, p.Notes...)
		}
		p.NotesMore = max(0, len(p.Notes)-notesShown)
		p.Notes = first(p.Notes, notesShown)
	}
	text, err := v.look.render(a.name, p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write(text) // a browser that has gone needs no answer
}

// asset writes a static file.
func (p *pages) asset(w http.ResponseWriter, r *http.Request, name string) {
	a, there := p.look.static[name]
	if !there {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(a.text)
}

// state says how new the data are, for the script that looks for newer ones.
func (v *visit) state(w http.ResponseWriter) {
	state := struct {
		streamState

		Age string `json:"age"`
		// Streams is how many are open, Refused how many were not opened, Dropped how many
		// browsers did not read in time.
		Streams int64 `json:"streams"`
		Refused int64 `json:"refused"`
		Dropped int64 `json:"dropped"`
	}{streamState: v.streamState(), Age: ageText(v.kept.age)}
	if v.viewer.all {
		state.Streams, state.Refused, state.Dropped = v.streams.open.Load(), v.streams.refused.Load(), v.streams.dropped.Load()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(state)
}

func problemText(err error) string {
	if err == nil {
		return ""
	}
	return short(err.Error())
}

// ageText says how old the data are.
func ageText(age time.Duration) string {
	if age < freshFor {
		return "now"
	}
	return fmt.Sprintf("%s ago", age.Round(time.Second))
}

// first returns at most n elements.
func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// bounded is a list of which a page shows only the first elements.
type bounded[T any] struct {
	Shown []T
	// More is how many are left out.
	More int
}

// listed is how many elements of a list within a page are shown.
const listed = 100

func boundedList[T any](all []T) bounded[T] {
	return bounded[T]{Shown: slices.Clone(first(all, listed)), More: max(0, len(all)-listed)}
}
