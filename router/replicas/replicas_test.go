package replicas_test

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/router/replicas"
)

// TestReplicas: a router counts with others if it is one of the pods and has certificates.
func TestReplicas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"20260102T150405Z.pem": "newer", "20260102T030405Z.pem": "older", "..data": "link"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("198.18.0.9")
	source := func(dir string, pods ...netip.Addr) *replicas.Source {
		return &replicas.Source{Dir: dir, Pods: func() []netip.Addr { return pods }, Log: slog.New(slog.DiscardHandler)}
	}
	r := source(dir, own, other).Replicas()
	if r == nil || r.Self != own || len(r.Members) != 2 || len(r.Certificates) != 2 || string(r.Certificates[0]) != "older" {
		t.Fatalf("%+v", r)
	}
	if again := source(dir, own, other).Replicas(); !r.Equal(again) {
		t.Errorf("%+v, then %+v", r, again)
	}
	for what, s := range map[string]*replicas.Source{
		"no folder": source("", own), "an empty folder": source(t.TempDir(), own), "no such folder": source(filepath.Join(dir, "none"), own),
		"not one of the pods": source(dir, other),
	} {
		if r := s.Replicas(); r != nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
