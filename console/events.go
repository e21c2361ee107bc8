package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/explain"
)

// Event is what a program of Fairlead has written about an object, or a finding.
type Event struct {
	// Time is when it was last seen; nil for a finding, which holds now.
	Time *time.Time
	// Count is how often.
	Count int
	// Type is "error", "warning" or "info" of a finding, "warning" or "normal" of an event.
	Type string
	// Source is the program, or "finding".
	Source string
	// Kind, Namespace and Name are those of the object; the kind is in lower case.
	Kind, Namespace, Name string
	Reason, Message       string
	Remedy                string
}

// Events are what a cluster has, the newest first.
type Events struct {
	Items []Event
	// Notes say what could not be read.
	Notes []string
}

const (
	findingSource = "finding"
	// eventsKept is how many of each a page chooses from.
	eventsKept = 10_000
)

// eventsPage is the stream of findings and events.
type eventsPage struct {
	routesPage
	Items []Event
	// Trouble says why the events could not be read.
	Trouble, EventAge string
	Cluster           bool
	// Pending says that the events are still being read.
	Pending bool
	Notes   []string
}

// List is the search, for its form.
func (p eventsPage) List() routesPage { return p.routesPage }

// events shows findings, and then events by time.
func (v *visit) events() answer {
	l := list{of: eventList, text: v.values.Get("q")}
	l.query, l.err = parseQuery(l.text, eventList)
	data := eventsPage{routesPage: routesPage{Query: l.text, Keys: searchKeys(eventList)}, Cluster: v.options.Cluster}
	all := v.world.findingEvents(v.pages)
	if data.Cluster {
		k := v.written()
		data.Trouble, data.EventAge, data.Pending = problemText(k.err), ageText(k.age), v.pending
		if k.value != nil {
			all = append(slices.Clip(all), k.value.Items...)
			data.Notes = first(k.value.Notes, notesShown)
		}
	}
	data.All = len(all)
	counts := map[string]int{}
	var chosen []*Event
	for i := range all {
		counts[all[i].Type]++
		if l.err == nil && l.query.matchesEvent(&all[i]) {
			chosen = append(chosen, &all[i])
		}
	}
	for _, of := range []string{"error", "warning", "info", "normal"} {
		if counts[of] > 0 {
			data.Counts = append(data.Counts, stateCount{explain.RowState(of), counts[of], pageQuery("type:"+of, 1)})
		}
	}
	if l.err != nil {
		data.Problem = l.err.Error()
	}
	data.Window, data.Previous, data.Next = pagesOf(len(chosen), v.values.Get("page"), func(n int) string { return pageQuery(l.text, n) })
	for _, e := range part(chosen, data.Window) {
		data.Items = append(data.Items, *e)
	}
	return answer{name: "events", title: "Events", data: data, line: Line{Command: "lint"}}
}

// findingEvents are the findings about all objects, the worst first. They are made when they
// are asked for.
func (w *world) findingEvents(p *pages) []Event {
	p.ask(w, func(s *explain.Snapshot) {
		if w.findings != nil {
			return
		}
		w.findings = []Event{}
		found := s.Lint("").Findings
		order := map[api.Severity]int{api.SeverityError: 0, api.SeverityWarning: 1, api.SeverityInfo: 2}
		slices.SortStableFunc(found, func(a, b explain.Finding) int { return cmp.Compare(order[a.Severity], order[b.Severity]) })
		for i := range first(found, eventsKept) {
			f := &found[i]
			e := Event{Count: 1, Type: strings.ToLower(string(f.Severity)), Source: findingSource, Reason: string(f.Reason), Remedy: f.Remedy, Message: f.Message}
			if f.Effect != "" {
				e.Message += "; " + f.Effect
			}
			e.Kind, e.Namespace, e.Name = splitObject(f.Object)
			w.findings = append(w.findings, e)
		}
	})
	return w.findings
}

// splitObject parts "kind/namespace/name", or "kind/name" of what is in no namespace.
func splitObject(text string) (kind, namespace, name string) {
	kind, rest, _ := strings.Cut(text, "/")
	if namespace, name, found := strings.Cut(rest, "/"); found {
		return kind, namespace, name
	}
	return kind, "", rest
}

// Page is the path of the page of the object below base, or nil if it has none. A name with a
// slash is none that the API server takes.
func (e Event) Page() []any {
	if strings.Contains(e.Name, "/") {
		return nil
	}
	if e.Kind == "route" || objectKinds()[e.Kind+"s"] != "" {
		return []any{e.Kind + "s", e.Namespace, e.Name}
	}
	return nil
}

// matchesEvent reports whether an event is what is searched for.
func (q query) matchesEvent(e *Event) bool {
	return !slices.ContainsFunc(q, func(t term) bool { return t.matchesEvent(e) == t.not })
}

func (t term) matchesEvent(e *Event) bool {
	in := func(text string) bool { return strings.Contains(strings.ToLower(text), t.value) }
	switch t.key {
	case "ns":
		if strings.Contains(t.value, "*") {
			return between(strings.Split(t.value, "*"), strings.ToLower(e.Namespace))
		}
		return strings.EqualFold(e.Namespace, t.value)
	case "kind":
		return e.Kind == t.value
	case "name":
		return in(e.Name)
	case "reason":
		return in(e.Reason)
	case "type":
		return e.Type == t.value
	case "source":
		return in(e.Source)
	default:
		return in(e.Namespace+"/"+e.Name) || in(e.Reason) || in(e.Message)
	}
}

// eventKeys are the words before a colon that the search of events knows.
func eventKeys() map[string]queryKey {
	return map[string]queryKey{
		"kind":   {about: "the kind of the object, such as service"},
		"ns":     {about: "the namespace; * stands for any text"},
		"name":   {about: "a part of the name"},
		"reason": {about: "a part of the reason"},
		"type":   {about: "how bad it is", choices: []string{"error", "warning", "info", "normal"}},
		"source": {about: "a part of the name of the program, or finding"},
	}
}

// readEvents reads what the cluster has, the newest first.
func (p *pages) readEvents(ctx context.Context, _ *Events) (*Events, error) {
	found, err := p.options.Source.Events(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found.Items, func(a, b Event) int {
		if a.Time == nil || b.Time == nil {
			return 0
		}
		return b.Time.Compare(*a.Time)
	})
	found.Items = first(found.Items, eventsKept)
	return found, nil
}
