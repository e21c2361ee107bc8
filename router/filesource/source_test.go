package filesource

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/statefile"
	"github.com/fairlead/fairlead/test/wait"
)

// bed is a source of a folder.
type bed struct {
	t       *testing.T
	dir     string
	options Options
	source  *Source
	last    Change
}

func newBed(t *testing.T, files map[string]string) *bed {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir()}
	b.options = Options{
		Paths: []string{b.dir}, Router: "default", Domain: "apps.localhost", Settle: time.Millisecond,
		State:   &statefile.Store{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)},
		Changed: func(c Change) { b.last = c },
	}
	for name, text := range files {
		b.write(name, text)
	}
	b.open()
	return b
}

func (b *bed) open() {
	b.t.Helper()
	var err error
	if b.source, err = New(b.options); err != nil {
		b.t.Fatal(err)
	}
	b.source.Take()
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// look reads the files again and returns what changed, sorted.
func (b *bed) look() []string {
	b.t.Helper()
	if err := b.source.look(time.Now(), false); err != nil {
		b.t.Fatal(err)
	}
	changed := b.source.Take()
	if changed.All {
		return []string{"all"}
	}
	var keys []string
	for key := range changed.Objects {
		keys = append(keys, string(key.Kind)+" "+key.String())
	}
	slices.Sort(keys)
	return keys
}

func (b *bed) wantChanges(want ...string) {
	b.t.Helper()
	if got := b.look(); !slices.Equal(got, want) {
		b.t.Errorf("changed: %q, want %q", got, want)
	}
}

// wantProblem wants a problem with the text, or none for "".
func (b *bed) wantProblem(text string) {
	b.t.Helper()
	var all []string
	for _, p := range b.last.Problems {
		all = append(all, strings.TrimPrefix(p.File, b.dir+"/")+": "+string(p.Reason)+" "+p.Text())
	}
	if text == "" && len(all) > 0 || text != "" && !slices.ContainsFunc(all, func(l string) bool { return strings.Contains(l, text) }) {
		b.t.Errorf("problems: %q, want %q", all, text)
	}
}

func routeText(name, host, service string) string {
	return fmt.Sprintf("kind: Route\napiVersion: route.openshift.io/v1\nmetadata: {name: %s, namespace: demo}\nspec: {host: %s, to: {kind: Service, name: %s}}\n", name, host, service)
}

func serviceText(name, annotations string) string {
	return fmt.Sprintf("kind: Service\napiVersion: v1\nmetadata: {name: %s, namespace: demo, annotations: {%s}}\nspec: {ports: [{name: http, port: 80, targetPort: 3000}]}\n", name, annotations)
}

func routeKey(name string) model.Object {
	return model.Object{Kind: route.Kind, Namespace: "demo", Name: name}
}

func (b *bed) host(name string) string {
	if r, ok := b.source.Object(routeKey(name)).(*routev1.Route); ok {
		return r.Spec.Host
	}
	return ""
}

// TestChanges: each change of a file marks what differs and nothing else.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.yaml": routeText("a", "a.test", "s") + "---\n" + routeText("b", "b.test", "s"), "s.yaml": serviceText("s", "")})
	b.wantChanges()
	b.write("a.yaml", routeText("a", "a.test", "s")+"---\n"+routeText("b", "new.test", "s"))
	b.wantChanges("Route demo/b")
	b.write("s.yaml", serviceText("s", `x: "1"`))
	b.wantChanges("Service demo/s")
	b.write("c.yaml", "kind: List\napiVersion: v1\nitems: ["+`{"kind":"Deployment","metadata":{"name":"x"}}`+"]\n")
	b.wantChanges()
	if _, kinds, others := b.source.Count(); kinds["Route"] != 2 || others != "1 Deployment" {
		t.Errorf("kinds %v, others %q", kinds, others)
	}
	if err := os.Remove(filepath.Join(b.dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	b.wantChanges("Route demo/a", "Route demo/b")
	b.write("ic.yaml", "kind: IngressController\napiVersion: operator.openshift.io/v1\nmetadata: {name: default, namespace: x}\nspec: {domain: d.test}\n")
	b.wantChanges("all")
}

// TestBroken: faults of a file leave the last good version of its objects.
func TestBroken(t *testing.T) {
	t.Parallel()
	good := routeText("a", "a.test", "s") + "---\n" + routeText("b", "b.test", "s")
	for name, test := range map[string]struct {
		text, problem string
		a, b          string
	}{
		"no YAML":                    {"kind: Route\nmetadata:\n   name: a\n  name: b\n", "a.yaml:3:4: Undecodable did not find expected key; 2 objects keep their last good version", "a.test", "b.test"},
		"an unknown field":           {strings.Replace(good, "host: b.test", "hots: b.test", 1), `a.yaml:6: UnknownField spec.hots: unknown field; 1 object keeps its last good version`, "a.test", "b.test"},
		"a value of another type":    {strings.Replace(good, "host: b.test", "host: [b.test]", 1), "1 object keeps its last good version", "a.test", "b.test"},
		"a fault beside a new value": {routeText("a", "new.test", "s") + "---\n- [\n", "1 object keeps its last good version", "new.test", "b.test"},
		"a key twice":                {strings.Replace(good, "kind: Route", "kind: Route\nkind: Route", 1), "keep", "a.test", "b.test"},
		"empty":                      {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.yaml": good, "other.yaml": routeText("other", "o.test", "s")})
			b.write("a.yaml", test.text)
			b.look()
			b.wantProblem(test.problem)
			if b.host("a") != test.a || b.host("b") != test.b || b.host("other") != "o.test" {
				t.Errorf("hosts %q, %q, %q; want %q, %q", b.host("a"), b.host("b"), b.host("other"), test.a, test.b)
			}
			b.write("a.yaml", good)
			b.look()
			b.wantProblem("")
			if b.host("b") != "b.test" {
				t.Error("the file is good again, and the Route is not")
			}
		})
	}
	b := newBed(t, map[string]string{"a.yaml": "kind: [", "b.yaml": routeText("b", "b.test", "s")})
	b.wantProblem("it is left out")
	if b.host("b") != "b.test" {
		t.Error("a file that was never good takes others with it")
	}
}

// TestDuplicate: the first file by name counts, also if another one is newer.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"b.yaml": routeText("a", "second.test", "s")})
	b.write("a.yaml", routeText("a", "first.test", "s"))
	b.wantChanges("Route demo/a")
	b.wantProblem("b.yaml:1: DuplicateObject the object is also in " + b.dir + "/a.yaml:1; that one counts")
	if b.host("a") != "first.test" {
		t.Errorf("host %q", b.host("a"))
	}
}

// TestAges: neither an edit nor a restart makes an object younger, and of those that are
// read at once the first one is older.
func TestAges(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.yaml": routeText("a", "x.test", "s"), "b.yaml": routeText("b", "x.test", "s")})
	age := func(name string) time.Time {
		created := b.source.Object(routeKey(name)).GetCreationTimestamp()
		return created.Time
	}
	a := age("a")
	if !a.Before(age("b")) {
		t.Error("the first file's object is not older")
	}
	uid := b.source.Object(routeKey("a")).GetUID()
	b.write("a.yaml", routeText("a", "x.test", "other"))
	b.look()
	if !age("a").Equal(a) || b.source.Object(routeKey("a")).GetUID() != uid {
		t.Error("an edit changes age or identity")
	}
	b.open()
	if !age("a").Equal(a) || !a.Before(age("b")) {
		t.Error("a restart changes the age")
	}
	b.write("a.yaml", strings.Replace(routeText("a", "x.test", "s"), "name: a,", `name: a, creationTimestamp: "2020-01-01T00:00:00Z",`, 1))
	b.look()
	if age("a").Year() != 2020 {
		t.Error("creationTimestamp does not count")
	}
}

// TestEndpoints: the annotation names pods unless there are EndpointSlices.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	const slice = "kind: EndpointSlice\napiVersion: discovery.k8s.io/v1\nmetadata: {name: s1, namespace: demo, labels: {kubernetes.io/service-name: s}}\naddressType: IPv4\nports: [{name: http, port: 4000}]\nendpoints: [{addresses: [127.0.0.2]}]\n"
	annotation := func(value string) string { return serviceText("s", api.AnnotationEndpoints+": '"+value+"'") }
	for _, test := range []struct{ service, slice, want, problem string }{
		{annotation("127.0.0.1:3000, [::1]:3001"), "", "127.0.0.1:3000 [::1]:3001", ""},
		{annotation("127.0.0.1:3000,x:1"), "", "127.0.0.1:3000", `"x:1" is not an address with a port`},
		{annotation("169.254.169.254:80"), "", "", ""},
		{annotation("127.0.0.1:3000"), slice, "127.0.0.2:4000", "the annotation is ignored"},
		{serviceText("s", ""), slice, "127.0.0.2:4000", ""},
		{serviceText("s", ""), "", "", ""},
	} {
		b := newBed(t, map[string]string{"s.yaml": test.service, "slice.yaml": test.slice})
		key := model.Object{Kind: door.KindService, Namespace: "demo", Name: "s"}
		service := b.source.Service(key)
		if service.Named {
			t.Error("the router would say that only a standalone one reads the annotation")
		}
		var got []string
		for _, e := range service.Endpoints(b.source.Slices(key)) {
			if e.PortName != "http" {
				t.Errorf("port %q", e.PortName)
			}
			got = append(got, e.Address.String())
		}
		slices.Sort(got)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s%s: endpoints %v, want %s", test.service, test.slice, got, test.want)
		}
		b.wantProblem(test.problem)
	}
}

// TestIngress: an Ingress is the Routes that the operator would make of it; of a class
// that no file has it is nothing.
func TestIngress(t *testing.T) {
	t.Parallel()
	text := func(class string) string {
		return "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {name: i, namespace: demo}\nspec: {" + class + "rules: [{host: i.test, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {name: http}}}}]}}]}\n"
	}
	for class, want := range map[string]int{"": 1, "ingressClassName: openshift-default, ": 1, "ingressClassName: nginx, ": 0} {
		b := newBed(t, map[string]string{"i.yaml": text(class), "s.yaml": serviceText("s", "")})
		if got := len(b.source.All()); got != want {
			t.Errorf("%q: %d Routes, want %d", class, got, want)
		}
		if (want == 0) != (len(b.last.Notes) == 1) {
			t.Errorf("%q: notes %q", class, b.last.Notes)
		}
		b.wantChanges()
		b.write("other.yaml", routeText("other", "o.test", "s"))
		b.wantChanges("Route demo/other")
	}
}

// TestSelectors: an IngressController that selects namespaces by labels serves the Routes of these.
func TestSelectors(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{
		"ic.yaml": "kind: IngressController\napiVersion: operator.openshift.io/v1\nmetadata: {name: default, namespace: openshift-ingress-operator}\nspec: {namespaceSelector: {matchLabels: {a: b}}}\n",
		"ns.yaml": "kind: Namespace\napiVersion: v1\nmetadata: {name: demo}\n", "a.yaml": routeText("a", "a.test", "s"),
	})
	if len(b.source.All()) != 0 {
		t.Error("the Route is selected")
	}
	b.write("ns.yaml", "kind: Namespace\napiVersion: v1\nmetadata: {name: demo, labels: {a: b}}\n")
	b.wantChanges("Route demo/a")
	if len(b.source.All()) != 1 {
		t.Error("the Route is not selected")
	}
}

// TestWatch: changes are noticed, those behind a link that is swapped as in a mounted
// ConfigMap included.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, how := range []Watch{Notify, Poll} {
		dir := t.TempDir()
		version := func(n int, host string) {
			sub := filepath.Join(dir, fmt.Sprintf("..%d", n))
			if err := os.MkdirAll(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, step := range []error{
				os.WriteFile(filepath.Join(sub, "a.yaml"), []byte(routeText("a", host, "s")), 0o600),
				os.Symlink(sub, filepath.Join(dir, "..new")), os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")),
			} {
				if step != nil {
					t.Fatal(step)
				}
			}
		}
		version(1, "one.test")
		if err := os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")); err != nil {
			t.Fatal(err)
		}
		source, err := New(Options{Paths: []string{dir}, Router: "default", Watch: how, Settle: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- source.Run(ctx, nil) }()
		b := &bed{t: t, source: source}
		version(2, "two.test")
		wait.Poll{}.For(t, string(how)+": the second version", func() error {
			if host := b.host("a"); host != "two.test" {
				return fmt.Errorf("host %s", host)
			}
			return nil
		})
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestNothing: no file to read is an error, a folder with one file is not.
func TestNothing(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Paths: []string{t.TempDir()}, Router: "default"}); err == nil {
		t.Error("an empty folder is taken")
	}
	s, err := New(Options{Paths: []string{Stdin}, Stdin: strings.NewReader(routeText("a", "a.test", "s")), Router: "default"})
	if err != nil || len(s.All()) != 1 {
		t.Errorf("standard input: %v", err)
	}
	if _, kinds, _ := s.Count(); !maps.Equal(kinds, map[string]int{"Route": 1}) {
		t.Errorf("kinds %v", kinds)
	}
}
