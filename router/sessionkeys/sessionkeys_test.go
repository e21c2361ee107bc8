package sessionkeys_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/sessionkeys"
)

// TestKeys: what the operator writes is read, and anything else gives no keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	made := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	write := func(dir, name string, size int) {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte{7}, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good, bad := t.TempDir(), t.TempDir()
	write(good, session.Name(made), session.KeySize)
	write(good, session.Name(made.Add(time.Hour)), session.KeySize)
	write(good, "..data", 3)
	write(bad, session.Name(made), session.KeySize-1)
	if keys := (&sessionkeys.Folder{Dir: good, Log: log}).Keys(); len(keys) != 2 || keys[0].Made != made.Unix() || len(keys[1].Secret) != session.KeySize {
		t.Errorf("%v", keys)
	}
	for _, dir := range []string{"", bad, filepath.Join(good, "none")} {
		if keys := (&sessionkeys.Folder{Dir: dir, Log: log}).Keys(); len(keys) != 0 {
			t.Errorf("%s: %v", dir, keys)
		}
	}
}
