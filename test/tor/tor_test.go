package tor_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/tor"
)

// TestDocumentedConfiguration loads the example of docs/lb/bgp.md into FRR, to
// the letter. test/e2e/lb uses it with other addresses.
func TestDocumentedConfiguration(t *testing.T) {
	if why := tor.Missing(); why != "" {
		t.Skip(why)
	}
	text, err := os.ReadFile("../../docs/lb/bgp.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?ms)^```frr\n(.*?)^```$").FindStringSubmatch(string(text))
	if example == nil {
		t.Fatal("docs/lb/bgp.md has no example for FRR")
	}
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
	r, err := tor.FRR(t.Context(), netns, dir, example[1], t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Load(t.Context(), "router bgp 64500\n neighbor nodes nonsense\n"); err == nil {
		t.Error("FRR understands nonsense")
	}
	running, err := r.Command(t.Context(), "show running-config")
	if err != nil {
		t.Fatal(err)
	}
	// What FRR does by default, or shows in another way, is not in it.
	shown := regexp.MustCompile(`(?m)^ *(neighbor|bgp listen|ip prefix-list|  ?receive-interval|no bgp ebgp).*$`)
	for _, line := range shown.FindAllString(example[1], -1) {
		if !strings.Contains(running, strings.TrimSpace(line)) {
			t.Errorf("FRR does not have %q:\n%s", strings.TrimSpace(line), running)
		}
	}
}
