package engine

import (
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/router/statefile"
)

// TestPodKey: a key is made once for each pod, kept for the next process where only the
// router reads it, and made again if what was kept is not a key.
func TestPodKey(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	store := func(dir string) *statefile.Store { return &statefile.Store{Dir: dir, Log: log} }
	dir := filepath.Join(t.TempDir(), "state")
	key := podKey(store(dir), log)
	if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != keyBytes {
		t.Fatalf("key %q: %v", key, err)
	}
	if again := podKey(store(dir), log); again != key {
		t.Error("the next process has another key")
	}
	if other := podKey(store(t.TempDir()), log); other == key {
		t.Error("two pods have one key")
	}
	for path, most := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, keyFile): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&^most != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := store(dir).Write(keyFile, []byte("short")); err != nil {
		t.Fatal(err)
	}
	made := podKey(store(dir), log)
	if made == key || podKey(store(dir), log) != made {
		t.Error("what is no key was used, or not replaced")
	}
}
