package main

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

// read parses a command line.
func read(args ...string) (*options, error) {
	opts := &options{}
	fs := flag.NewFlagSet("speaker", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	opts.register(fs)
	if err := fs.Parse(append([]string{"--node-name=n1", "--bind-address=fd00::1"}, args...)); err != nil {
		return nil, err
	}
	return opts, opts.validate()
}

func TestOptions(t *testing.T) {
	opts, err := read()
	if err != nil || opts.gossipProfile != liveness.Fast || time.Duration(opts.refresh) != time.Minute || opts.isolation != isolationWithdraw {
		t.Errorf("defaults: %+v, %v", opts, err)
	}
	if opts, err = read("--gossip-profile=wan", "--lb-class=a,b", "--exclude-interfaces=^lo$,^mgmt"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(opts.classes().Names, opts.excludedInterfaces()...), " "); opts.gossipProfile != liveness.WAN || got != "a b ^lo$ ^mgmt" {
		t.Errorf("profile %q, lists %q", opts.gossipProfile, got)
	}
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "2m": 2 * time.Minute, "5": 5 * time.Second, "0": 0} {
		if opts, err := read("--gratuitous-arp-interval", text); err != nil || time.Duration(opts.refresh) != want {
			t.Errorf("interval %s: %+v, %v", text, opts, err)
		}
	}
	for _, bad := range []string{"--log-level=loud", "--gossip-profile=slow", "--l2-isolation=maybe", "--node-name=", "--bind-address=", "--gratuitous-arp-interval=often", "--gratuitous-arp-interval=-1s"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// Whoever reads the page finds every flag.
func TestFlagsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/lb/install.md")
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("speaker", flag.ContinueOnError)
	(&options{}).register(fs)
	fs.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(string(page), "`--"+f.Name+"`") {
			t.Errorf("docs/lb/install.md does not name --%s", f.Name)
		}
	})
}
