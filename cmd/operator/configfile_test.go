package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const head = "apiVersion: config.fairlead.dev/v1alpha1\nkind: OperatorConfiguration\n"

// write returns the path of a configuration file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryFlagHasAField: what a flag says, the file can say, except where the
// file is.
func TestEveryFlagHasAField(t *testing.T) {
	t.Parallel()
	var s options
	fs := s.flags()
	fields := configFields()
	fs.VisitAll(func(f *flag.Flag) {
		if f.Name != "config" && !slices.ContainsFunc(fields, func(x field) bool { return x.flag == f.Name }) {
			t.Errorf("--%s has no field in the configuration file", f.Name)
		}
	})
	seen := map[string]bool{}
	for _, f := range fields {
		if fs.Lookup(f.flag) == nil {
			t.Errorf("%s: there is no flag --%s", f.path, f.flag)
		}
		if seen[f.path] || seen["--"+f.flag] {
			t.Errorf("%s or --%s is there twice", f.path, f.flag)
		}
		seen[f.path], seen["--"+f.flag] = true, true
	}
}

// TestConfigFile: errors name the field and say what to write.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{"another version", "apiVersion: v1\nkind: OperatorConfiguration\n", "apiVersion: must be config.fairlead.dev/v1alpha1"},
		{"another kind", "apiVersion: config.fairlead.dev/v1alpha1\nkind: Route\n", "kind: must be OperatorConfiguration"},
		{"empty", "", "apiVersion: must be"},
		{"a list", "- a\n", "must be an object"},
		{"unknown field", head + "router: {image: a, replicas: 2}\n", `unknown field "router.replicas"`},
		{"unknown object", head + "routers: {image: a}\n", `unknown field "routers"`},
		{"twice", head + "domain: a\ndomain: b\n", "domain"},
		{"no object", head + "router: a\n", "router: must be an object"},
		{"a number for a string", head + "router: {image: a, haproxyVersion: 3.2}\n", `router.haproxyVersion: must be a string; write "3.2" in quotes`},
		{"a string for a number", head + "router: {image: a, routes: many}\n", "router.routes: must be a whole number"},
		{"a part of a number", head + "router: {image: a, routes: 1.5}\n", "router.routes: must be a whole number"},
		{"a string for a switch", head + "leaderElect: 'no'\n", "leaderElect: must be true or false"},
		{"a string for a list", head + "dns: {zones: example.com}\n", "dns.zones: must be a list of strings"},
		{"a number in a list", head + "addresses: {classes: [a, 1]}\n", "addresses.classes: item 2 must be a string"},
		{"a list for an object", head + "router: {haproxyImages: [a]}\n", "router.haproxyImages: must be an object"},
		{"no duration", head + "canary: {interval: often}\n", `canary.interval: "often"`},
		{"unknown level", head + "log: {level: loud}\n", `log.level: "loud": unknown level`},
		{"what flags refuse, too", head + "router: {image: a, routes: 0}\n", "(router.routes in "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, test.content)
			_, err := parse([]string{"--config", path})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if _, err := parse([]string{"--config=/nowhere"}); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestFlagsWin: a flag that is given replaces the field, lists included.
func TestFlagsWin(t *testing.T) {
	t.Parallel()
	path := write(t, head+"domain: file.example.com\nleaderElect: false\n"+
		"router: {image: file, haproxyImages: {'3.0': a, '3.2': b}}\ndns: {zones: [a.example.com, b.example.com]}\ncanary: {interval: 10s}\naddresses: {classes: [a, b]}\n")
	s, err := parse([]string{"--config", path})
	if err != nil || s.domain != "file.example.com" || s.leaderElect || s.haproxyImages["3.0"] != "a" || len(s.dns.zones) != 2 ||
		s.canaryInterval != 10*time.Second || !slices.Equal(s.classes().Names, []string{"a", "b"}) {
		t.Fatalf("from the file: %+v, %v", s, err)
	}
	s, err = parse([]string{"--domain=flag.example.com", "--leader-elect", "--haproxy-image=3.2=c", "--dns-zone=c.example.com", "--config", path})
	if err != nil || s.domain != "flag.example.com" || !s.leaderElect || s.routerImage != "file" || len(s.haproxyImages) != 1 || len(s.dns.zones) != 1 {
		t.Errorf("with flags: %+v, %v", s, err)
	}
}

// TestConfigurationPage: the example can be used as it is, and the table has all
// fields with their flags.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operator/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example")
	}
	s, err := parse([]string{"--config", write(t, string(example[1]))})
	if err != nil || s.routerImage == "" || len(s.dns.zones) == 0 {
		t.Errorf("the example: %+v, %v", s, err)
	}
	for _, f := range configFields() {
		if !strings.Contains(string(page), "| `"+f.path+"` | `--"+f.flag+"` |") {
			t.Errorf("the table has no row of %s and --%s", f.path, f.flag)
		}
	}
}
