package chart

import (
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/test/walk"
)

// cause is one reason for which the reader's Route answers 503, with how to bring it about and to end it.
type cause struct {
	// row is the beginning of its row in the table of the page.
	row        string
	begin, end []string
}

const readiness = "/spec/template/spec/containers/0/readinessProbe/httpGet/path"

func patch(object, text string) []string {
	return []string{"patch", object, "-n", "hello", "--type=json", "-p", text}
}

func probe(path string) []string {
	return patch("deployment/hello", `[{"op":"replace","path":"`+readiness+`","value":"`+path+`"}]`)
}

func scale(n string) []string {
	return []string{"scale", "deployment/hello", "-n", "hello", "--replicas=" + n}
}

// causes are those of the page's table that are about a Route and its Services.
func causes() []cause {
	replace := func(object, path, value, before string) (begin, end []string) {
		p := func(v string) []string { return patch(object, `[{"op":"add","path":"`+path+`","value":`+v+`}]`) }
		return p(value), p(before)
	}
	all := []cause{{row: "finds no pod that runs", begin: scale("0"), end: scale("1")}}
	for _, c := range []struct{ row, object, path, value, before string }{
		{"finds no pod that runs", "service/hello", "/spec/selector/app", `"hallo"`, `"hello"`},
		{"ServiceNotFound", "route/hello", "/spec/to/name", `"hallo"`, `"hello"`},
		{"PortNotFound", "route/hello", "/spec/port/targetPort", `"web"`, `"http"`},
		{"all endpoints have weight 0", "route/hello", "/spec/to/weight", "0", "100"},
		{"something of it protects", "route/hello", "/metadata/annotations", `{"haproxy.router.openshift.io/ip_allowlist":"office"}`, "{}"},
	} {
		begin, end := replace(c.object, c.path, c.value, c.before)
		all = append(all, cause{row: c.row, begin: begin, end: end})
	}
	return all
}

// before brings about what a task is about.
func (b *bed) before(task string) {
	b.t.Helper()
	if task != "find why a Route answers 503" {
		return
	}
	b.kubectl(scale("0")...)
	b.kubectl("wait", "-n", "hello", "--for=delete", "pod", "-l", "app=hello", "--timeout=60s")
	// The former pod may have had such an event, too, when it started.
	b.kubectl("delete", "events", "-n", "hello", "--field-selector=reason=Unhealthy")
	b.kubectl(probe("/status/500")...)
	b.kubectl(scale("1")...)
	b.answers(b.address(), "503")
	b.until("the probe has failed", func() error {
		_, err := shared.Kubectl(b.t.Context(), "wait", "--for=create", "event", "-n", "hello", "--field-selector=reason=Unhealthy", "--timeout=30s")
		return err
	})
	b.kubectl("wait", "-n", "hello", "--for=jsonpath={.status.phase}=Running", "pod", "-l", "app=hello", "--timeout=30s")
}

// faults brings about each other cause of a 503 in the table of the page, and looks whether the first command of the page says it.
func (b *bed) faults(words map[string]string) {
	b.t.Helper()
	address := b.address()
	b.kubectl(scale("0")...)
	b.kubectl(probe("/")...)
	b.kubectl(scale("1")...)
	b.answers(address, "200")
	w := b.reader("docs/howto/503.md", words)
	ask := w.Page.Below("Steps")[0]
	step := walk.Step{Command: ask.Steps()[0].Command, Shown: true, Output: []string{"…"}}
	_, table, _ := strings.Cut(w.Page.Text, "## If it does not work")
	seen := 0
	for _, c := range causes() {
		row := regexp.MustCompile("(?m)^\\| `([^`]*" + regexp.QuoteMeta(c.row) + "[^`]*)`").FindStringSubmatch(table)
		if row == nil {
			b.t.Errorf("the page's table has no row with %q", c.row)
			continue
		}
		b.kubectl(c.begin...)
		b.answers(address, "503")
		printed, err := w.Step(b.t.Context(), step)
		if err == nil {
			err = walk.Compare([]string{"…", "…" + row[1] + "…", "…"}, printed, words)
		}
		if err != nil {
			b.t.Error(err)
		}
		b.kubectl(c.end...)
		b.answers(address, "200")
		seen++
	}
	if rows := strings.Count(table, "\n| `"); seen < rows { // SERVED is no cause, and the selector has two
		b.t.Errorf("%d causes were seen, but the table has %d rows", seen, rows)
	}
}
