package bgprouter_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/bgprouter"
)

// TestDocumentedConfiguration loads all examples of docs/lb for FRR and BIRD, to
// the letter. Other tests use them, with other addresses.
func TestDocumentedConfiguration(t *testing.T) {
	if why := bgprouter.Missing(); why != "" {
		t.Skip(why)
	}
	pages, err := filepath.Glob("../../docs/lb/*.md")
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]func(context.Context, string, string, string, io.Writer) (*bgprouter.Router, error){"frr": bgprouter.FRR, "bird": bgprouter.BIRD}
	count := map[string]int{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range regexp.MustCompile("(?ms)^```(frr|bird)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			kind, config := example[1], example[2]
			count[kind]++
			t.Run(fmt.Sprintf("%s/%s%d", filepath.Base(page), kind, count[kind]), func(t *testing.T) {
				r := start(t, starts[kind], config)
				if kind == "frr" {
					shows(t, r, config)
				}
			})
		}
	}
	if count["frr"] < 3 || count["bird"] < 1 {
		t.Errorf("examples by router: %v; have they moved?", count)
	}
}

// start starts a router in a network of its own.
func start(t *testing.T, run func(context.Context, string, string, string, io.Writer) (*bgprouter.Router, error), config string) *bgprouter.Router {
	t.Helper()
	netns := fmt.Sprintf("ftor-%d", os.Getpid())
	for _, args := range [][]string{{"netns", "add", netns}, {"-n", netns, "link", "set", "lo", "up"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", netns).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	dir, err := os.MkdirTemp("", "tor") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r, err := run(t.Context(), netns, dir, config, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// shows compares an example with what FRR says that it does. What FRR does by
// default, or shows in another way, is not looked at.
func shows(t *testing.T, r *bgprouter.Router, config string) {
	t.Helper()
	if err := r.Load(t.Context(), "router bgp 64500\n neighbor nodes nonsense\n"); err == nil {
		t.Error("FRR understands nonsense")
	}
	running, err := r.Command(t.Context(), "show running-config")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ *(neighbor|no neighbor|bgp listen|ip prefix-list|ipv6 prefix-list|  ?receive-interval|no bgp ebgp).*$`).FindAllString(config, -1)
	if len(lines) < 3 {
		t.Errorf("only %d lines to look at", len(lines))
	}
	for _, line := range lines {
		if !strings.Contains(running, strings.TrimSpace(line)) {
			t.Errorf("FRR does not have %q:\n%s", strings.TrimSpace(line), running)
		}
	}
}
