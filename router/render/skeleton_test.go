package render_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	parser "github.com/haproxytech/config-parser/v5"
	"github.com/haproxytech/config-parser/v5/options"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/templates"
)

// TestSkeletonParses reads the skeleton with HAProxy's own configuration
// library, so a slip in the template fails without a HAProxy at hand.
func TestSkeletonParses(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]plan.Capabilities{
		"3.0": {MaxPayload: 15000},
		"3.4": {DynamicBackends: true, AutoSNI: true, MaxPayload: 1 << 20},
	} {
		text, fingerprint, err := render.Skeleton(render.Settings{HTTPPort: 80, HTTPSPort: 443, MaxConn: 100, IPv6: true},
			render.Layout{Dir: "/var/lib/haproxy"}, caps)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parser.New(options.String(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for section, want := range map[parser.Section]int{parser.Frontends: 4, parser.Defaults: 13, parser.Backends: 2} {
			got, err := p.SectionsGet(section)
			if err != nil || len(got) != want {
				t.Errorf("%s: %d sections %s (%v), want %d: %v", name, len(got), section, err, want, got)
			}
		}
		if d, err := p.Get(parser.Global, parser.GlobalSectionName, "description"); err != nil {
			t.Errorf("%s: no description %s: %v %v", name, fingerprint, d, err)
		}
	}
}

// TestSkeletonChecks asks the real HAProxy whether it would start with it.
func TestSkeletonChecks(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs("../../.tools/bin/" + bin)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Skipf("%s is missing; `make tools` fetches it", path)
			}
			l := render.Layout{Dir: t.TempDir()}
			caps := plan.Capabilities{}
			if bin == "haproxy" {
				caps = plan.Capabilities{DynamicBackends: true, AutoSNI: true, MaxPayload: 1 << 20}
			}
			text, _, err := render.Skeleton(render.Settings{HTTPPort: 8080, HTTPSPort: 8443, MaxConn: 100}, l, caps)
			if err != nil {
				t.Fatal(err)
			}
			write(t, l.Config(), func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
			for _, m := range plan.Maps() {
				write(t, l.MapFile(m), func(io.Writer) error { return nil })
			}
			write(t, l.CrtList(), func(io.Writer) error { return nil })
			write(t, filepath.Join(l.PagesDir(), "503.http"), func(w io.Writer) error { _, err := w.Write(templates.Unavailable); return err })
			write(t, filepath.Join(l.PagesDir(), "404.html"), func(w io.Writer) error { _, err := w.Write(templates.NotFound); return err })
			out, err := exec.Command(path, "-c", "-f", l.Config()).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func write(t *testing.T, path string, f func(io.Writer) error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := f(file); err != nil {
		t.Fatal(err)
	}
}
