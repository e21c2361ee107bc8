package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/filesource"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// screen prints what becomes of the files: it is the status of objects for a person who
// has no cluster to ask. It implements engine.StatusSink.
type screen struct {
	out   io.Writer
	began time.Time
	// place says where an object is, as "file:line".
	place func(api.ObjectRef) string

	mu sync.Mutex
	// ready is true once the first state is served.
	ready    bool
	statuses map[model.Object]model.RouteStatus
	// shown are the findings that hold now and have been printed, by who said them.
	shown map[string][]string
	// change is the one that HAProxy is about to serve, until open.
	change filesource.Change
	open   time.Time
	// awaited are the change's Routes of which nothing was said since.
	awaited model.Objects
	// policies are the conditions that were printed.
	policies map[model.Object]string
}

func newScreen(out io.Writer, began time.Time) *screen {
	return &screen{
		out: terminal.Writer(out), began: began, place: func(api.ObjectRef) string { return "" },
		statuses: map[model.Object]model.RouteStatus{}, shown: map[string][]string{}, policies: map[model.Object]string{},
	}
}

// answerTime is how long what becomes of a Route is put down to the last change.
const answerTime = 10 * time.Second

// mostLines bounds what is printed about one change.
const mostLines = 8

// line prints one with the time.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(format, args...)
}

func (s *screen) print(format string, args ...any) {
	fmt.Fprintf(s.out, "[%5.1fs] %s\n", time.Since(s.began).Seconds(), terminal.Line(fmt.Sprintf(format, args...)))
}

// changed takes what a reading of the files found.
func (s *screen) changed(c filesource.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change, s.awaited, s.open = c, maps.Clone(c.Routes), time.Now().Add(answerTime)
	var lines []string
	for _, p := range c.Problems {
		lines = append(lines, problemText(p))
	}
	s.tell("files", lines)
	s.tell("notes", c.Notes)
}

// tell prints those of the lines that did not hold before, and says so when none does
// any more.
func (s *screen) tell(about string, lines []string) {
	before := s.shown[about]
	printed := 0
	for _, l := range lines {
		if slices.Contains(before, l) {
			continue
		}
		if printed++; printed > mostLines {
			s.print("  … and more about %s", about)
			break
		}
		s.print("%s", l)
	}
	if len(lines) == 0 && len(before) > 0 && s.ready {
		s.print("nothing is wrong with the %s any more", about)
	}
	s.shown[about] = lines
}

// problemText is a finding as compilers write theirs.
func problemText(p explain.Problem) string {
	text := findingText(p.Finding)
	if p.File != "" {
		text = p.File + ": " + text
	}
	return text
}

func findingText(f api.Finding) string {
	var b strings.Builder
	if f.Object.Name != "" {
		fmt.Fprintf(&b, "%s: ", f.Object)
	}
	if f.Severity != api.SeverityError {
		fmt.Fprintf(&b, "%s ", f.Severity)
	}
	if f.Reason != api.ReasonUndecodable {
		fmt.Fprintf(&b, "%s ", f.Reason)
	}
	b.WriteString(f.Text())
	if remedy := remedyOf(f); remedy != "" {
		b.WriteString(" → " + remedy)
	}
	return b.String()
}

// remedyOf is what to do where files are all there is.
func remedyOf(f api.Finding) string {
	if f.Reason == api.ReasonNoEndpoints {
		return "name the pods on the Service: metadata.annotations: {" + api.AnnotationEndpoints + `: "127.0.0.1:3000"}`
	}
	if f.Reason == api.ReasonUndecodable {
		return ""
	}
	remedy, _ := api.RemedyOf(f.Reason)
	return remedy.Remedy
}

// Publish implements engine.StatusSink.
func (s *screen) Publish(statuses []model.RouteStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(statuses, func(a, b model.RouteStatus) int { return strings.Compare(a.Object.String(), b.Object.String()) })
	now, printed := time.Now(), 0
	for _, st := range statuses {
		before, known := s.statuses[st.Object]
		s.statuses[st.Object] = st
		if !s.ready {
			continue
		}
		_, asked := s.awaited[st.Object]
		asked = (asked || len(s.change.Routes) == 0) && now.Before(s.open)
		delete(s.awaited, st.Object)
		if !asked && known && verdict(before) == verdict(st) {
			continue
		}
		if printed++; printed <= mostLines {
			s.route(st, known, now)
		}
	}
	if printed > mostLines {
		s.print("  … and %d more Routes", printed-mostLines)
	}
}

// route prints what became of a Route.
func (s *screen) route(st model.RouteStatus, known bool, now time.Time) {
	sign, word := "+", "served"
	if known {
		sign, word = "~", "live"
	}
	text := fmt.Sprintf("%s route %s  %s", sign, st.Object, st.Host)
	switch v := verdict(st); {
	case v != "":
		text += "  " + v
	case now.Before(s.open):
		text += fmt.Sprintf("  %s after %d ms (files %d, HAProxy %.1f)", word, now.Sub(s.change.Began).Milliseconds(),
			s.change.Read.Sub(s.change.Began).Milliseconds(), float64(now.Sub(s.change.Read).Microseconds())/1000)
	}
	s.print("%s", text)
	for _, f := range st.Findings {
		s.finding(f)
	}
}

// verdict says what keeps a Route from its pods, or is empty.
func verdict(st model.RouteStatus) string {
	switch {
	case !st.Admitted:
		return "refused"
	case st.Reason == api.ReasonPolicyClosed:
		return "closed: requests get a 503 page"
	}
	for _, f := range st.Findings {
		if f.Reason == api.ReasonNoEndpoints {
			return "has no pods: requests get a 503 page"
		}
	}
	return ""
}

// finding prints one about a Route, hints left out unless they say that nothing answers.
func (s *screen) finding(f api.Finding) {
	if f.Severity == api.SeverityInfo && f.Reason != api.ReasonNoEndpoints {
		return
	}
	at := s.place(f.Object)
	if at != "" {
		at += ": "
	}
	s.print("    %s%s", at, findingText(f))
}

// Forget implements engine.StatusSink.
func (s *screen) Forget(keys []model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	printed := 0
	for _, key := range keys {
		if _, known := s.statuses[key]; !known {
			continue
		}
		delete(s.statuses, key)
		if printed++; printed <= mostLines {
			s.print("- route %s", key)
		}
	}
	if printed > mostLines {
		s.print("  … and %d more Routes are gone", printed-mostLines)
	}
}

// PublishPolicies implements engine.StatusSink.
func (s *screen) PublishPolicies(reports []policy.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range reports {
		if r.Pending {
			continue
		}
		var bad []string
		for _, c := range r.Conditions {
			if (c.Status == metav1.ConditionFalse) != (c.Type == api.ConditionOverridden) {
				bad = append(bad, fmt.Sprintf("%s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
		}
		text := strings.Join(bad, "; ")
		if text != "" && text != s.policies[r.Key] {
			s.print("%s %s: %s", r.Key.Kind, r.Key, text)
		}
		s.policies[r.Key] = text
	}
}

// settings prints findings about the IngressController.
func (s *screen) settings(findings []api.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, f := range findings {
		lines = append(lines, findingText(f))
	}
	s.tell("settings", lines)
}

// summary is what the program says once everything is served.
type summary struct {
	Version string
	Files   int
	Kinds   map[string]int
	Others  string
	// Served are the Routes with pods, NotServed the others.
	Served    int
	NotServed int
}

// start prints the summary and the Routes with something to say, and returns the hosts
// that are served.
func (s *screen) start(sum summary) []model.RouteStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var served []model.RouteStatus
	var rest []model.RouteStatus
	for _, st := range s.statuses {
		if verdict(st) == "" {
			served = append(served, st)
		}
		if verdict(st) != "" || slices.ContainsFunc(st.Findings, func(f api.Finding) bool { return f.Severity != api.SeverityInfo }) {
			rest = append(rest, st)
		}
	}
	byName := func(a, b model.RouteStatus) int { return strings.Compare(a.Object.String(), b.Object.String()) }
	slices.SortFunc(served, byName)
	slices.SortFunc(rest, byName)
	result := "all served"
	if n := len(s.statuses) - len(served); n > 0 {
		result = fmt.Sprintf("%d served, %d not", len(served), n)
	}
	s.print("HAProxy %s runs; %s: %s", sum.Version, counts(sum), result)
	if sum.Others != "" {
		s.print("of no use here: %s", sum.Others)
	}
	for i, st := range rest {
		if i == mostLines {
			s.print("  … and %d more Routes", len(rest)-i)
			break
		}
		s.print("  route %s  %s  %s", st.Object, st.Host, verdict(st))
		for _, f := range st.Findings {
			s.finding(f)
		}
	}
	s.ready = true
	return served
}

// counts is "6 files, 4 Routes, 1 Ingress, 5 Services".
func counts(sum summary) string {
	count := func(n int, noun string) string {
		switch {
		case n == 1:
		case strings.HasSuffix(noun, "s"):
			noun += "es"
		default:
			noun += "s"
		}
		return fmt.Sprintf("%d %s", n, noun)
	}
	words := []string{count(sum.Files, "file")}
	for _, kind := range []string{"Route", "Ingress", "Service"} {
		words = append(words, count(sum.Kinds[kind], kind))
	}
	return strings.Join(words, ", ")
}
