package haproxy

import (
	"os"
	"testing"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// TestJournal: what is recorded stays until the files that have it are written, over failed
// writes and over processes.
func TestJournal(t *testing.T) {
	l := render.Layout{Dir: t.TempDir()}
	entry := func(key string) plan.Entry { return plan.Entry{Map: plan.MapHTTP, Key: key} }
	var f *Files
	process := func() {
		t.Helper()
		var err error
		if f, err = NewFiles(l, plan.Capabilities{}); err != nil {
			t.Fatal(err)
		}
	}
	process()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(newest, former string) {
		t.Helper()
		for path, want := range map[string]string{l.Journal(): newest, l.FormerJournal(): former} {
			if text, _ := os.ReadFile(path); string(text) != want {
				t.Errorf("%s: %q, want %q", path, text, want)
			}
		}
	}
	must(f.Record([]plan.Step{plan.BackendAdd{Name: "b"}}))
	expect("", "")
	must(f.Record([]plan.Step{plan.EntryAdd{Entry: entry("a"), Value: "1 2"}, plan.EntryDel{Entry: entry("b")}}))
	expect("\n10 http a 1 2\n6 http b\n", "")
	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "3\n4 http x y"}, plan.EntryDel{Entry: entry("b c")}}))
	expect("\n10 http a 1 2\n6 http b\n", "")
	must(f.Turn())
	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "5"}}))
	expect("\n8 http a 5\n", "\n10 http a 1 2\n6 http b\n")
	process() // which has no idea of a former part
	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "6"}}))
	must(f.Turn())
	expect("", "\n10 http a 1 2\n6 http b\n\n8 http a 5\n\n8 http a 6\n")
	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "7"}}))
	must(f.Write(render.Base{}, plan.NewState()))
	expect("\n8 http a 7\n", "")
	must(f.Turn())
	must(f.Write(render.Base{}, plan.NewState()))
	expect("", "")

	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "8"}}))
	f.journal.size = maxJournal
	for _, value := range []string{"9", "10"} {
		if f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: value}}) == nil {
			t.Errorf("%s was recorded, beyond the bound", value)
		}
	}
	expect("\n8 http a 8\n", "")
	must(f.Turn())
	must(f.Record([]plan.Step{plan.EntrySet{Entry: entry("a"), Value: "11"}}))
	expect("\n9 http a 11\n", "\n8 http a 8\n")
}
