package check

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
)

var update = flag.Bool("update", false, "write what is shown into testdata and docs")

// shown writes a report as a terminal with the style would show it.
func shown(t *testing.T, s *Snapshot, style Style) string {
	t.Helper()
	var out strings.Builder
	if err := Judge(s).Screen(&out, style); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestScreens compares the screens of some clusters with testdata.
func TestScreens(t *testing.T) {
	t.Parallel()
	broken := both(replicas(2, 0), says("Available", operatorv1.ConditionFalse, "IngressControllerUnavailable", "no router is ready"),
		func(_ *testing.T, s *Snapshot) { s.Routes[0].Status.Ingress = nil })
	for name, c := range map[string]struct {
		scene scene
		style Style
	}{
		"healthy": {func(*testing.T, *Snapshot) {}, Style{}},
		"broken":  {broken, Style{}},
		"short":   {broken, Style{Short: true, ASCII: true}},
		"color":   {broken, Style{Short: true, Color: true}},
		"tenant": {func(_ *testing.T, s *Snapshot) {
			*s = Snapshot{Now: now, Here: now, Routes: s.Routes, Sources: map[Source]Reading{}}
			for _, source := range []Source{SourceControllers, SourceDeployments, SourceSecrets, SourceNodes} {
				s.Sources[source] = Reading{Why: "you have no right to"}
			}
			s.Sources[SourceRoutes] = Reading{Why: "you have no right to", Only: "web"}
		}, Style{}},
		"hostile": {func(_ *testing.T, s *Snapshot) {
			c := said(&s.Routes[0])
			c.Status, c.Reason, c.Message = "False", "Evil", "a\nHEALTHY\x1b[2J\u202e é"
		}, Style{Short: true, ASCII: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := healthy(t)
			c.scene(t, s)
			got, file := shown(t, s, c.style), "testdata/"+name+".txt"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestDocs: the screen and the JSON of docs/status.md are what is shown of a cluster with a
// certificate that ends soon.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	withCertificate(leaf{names: []string{"www.example.com"}, end: now.Add(11 * dayLong), from: now.Add(-79 * dayLong)})(t, s)
	r := Judge(s)
	const file = "../docs/status.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The first check of each state is enough.
	r.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.ID != "FL101" && c.ID != "FL103" })
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	fresh := replaced(t, string(page), "```console\n$ kubectl fairlead status\n", shown(t, s, Style{}))
	fresh = replaced(t, fresh, "```json\n", data.String())
	if *update {
		if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(page), fresh); d != "" && !*update {
		t.Errorf("(-docs +now):\n%s", d)
	}
}

// replaced replaces the content of the first block that begins so.
func replaced(t *testing.T, page, begin, content string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, "```")
	if !ok || !ended {
		t.Fatalf("no block %q", begin)
	}
	return before + begin + content + "```" + after
}

// TestSchema holds the JSON form: scripts read it. A field that vanishes or changes its
// type needs a new number in Schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	var got []string
	for _, form := range []any{Report{}, Check{}} {
		for f := range reflect.TypeOf(form).Fields() {
			if f.IsExported() {
				got = append(got, fmt.Sprintf("%s %s", f.Tag.Get("json"), f.Type))
			}
		}
	}
	want := []string{
		"schema string", "verdict check.Verdict", "partial bool", "notes []string", "checks []check.Check",
		"id string", "state check.State", "summary string", "remedy string", "object string",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestMany: ten objects are named, the others are counted.
func TestMany(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	for i := range 5000 {
		r := route("web", fmt.Sprint("r", i), "www.example.com")
		said(&r).Status, said(&r).Reason = "False", "HostAlreadyClaimed"
		s.Routes = append(s.Routes, r)
	}
	r := Judge(s)
	if n := r.Count(Warn); n != perRule+1 || r.Verdict != Healthy {
		t.Errorf("%d warnings, %s", n, r.Verdict)
	}
	if out := shown(t, s, Style{}); !strings.Contains(out, "the same holds for 4990 more objects") {
		t.Error(out)
	}
}

// TestNarrow: with one IngressController to judge, the others do not count.
func TestNarrow(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	other := controller()
	other.Name = "internal"
	set(&other, "Available", operatorv1.ConditionFalse, "x", "y")
	s.Controllers = append(s.Controllers, other)
	s.Deployments = append(s.Deployments, deployment("openshift-ingress", "router-internal", "fairlead.dev/router:1.4.0"))
	for i := range s.Deployments {
		s.Deployments[i].Labels = map[string]string{"ingresscontroller.operator.openshift.io/owning-ingresscontroller": strings.TrimPrefix(s.Deployments[i].Name, "router-")}
	}
	s.Services[0].Labels = s.Deployments[0].Labels
	if !s.Narrow("default") {
		t.Fatal("it is not found")
	}
	if r := Judge(s); !r.Good(true) {
		t.Error(shown(t, s, Style{}))
	}
	if s.Narrow("nowhere") {
		t.Error("it is found")
	}
}
