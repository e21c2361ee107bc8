package statefile

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func store(t testing.TB, discarded *[]string) *Store {
	t.Helper()
	return &Store{
		Dir: filepath.Join(t.TempDir(), "state"), Log: slog.New(slog.DiscardHandler),
		Discarded: func(name string) { *discarded = append(*discarded, name) },
		Failed:    func(name string) { *discarded = append(*discarded, "failed "+name) },
	}
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	var discarded []string
	s := store(t, &discarded)
	if s.Read("a", 10, func([]byte) error { t.Error("there is nothing yet"); return nil }) {
		t.Error("a file that does not exist was read")
	}
	for _, text := range []string{"", "one", "two\nlines\x00"} {
		if err := s.Write("a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		got := "-"
		if !s.Read("a", len(text), func(b []byte) error { got = string(b); return nil }) || got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
	if len(discarded) > 0 {
		t.Errorf("discarded %v", discarded)
	}
}

// TestDiscard: what is not as it was written is not used, counted, and keeps
// the router waiting for nothing.
func TestDiscard(t *testing.T) {
	t.Parallel()
	good := encode([]byte("text"))
	changed := bytes.Clone(good)
	changed[len(changed)-1]++
	for name, make := range map[string]func(path string) error{
		"empty":    func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"plain":    func(p string) error { return os.WriteFile(p, []byte("text"), 0o600) },
		"cut off":  func(p string) error { return os.WriteFile(p, good[:len(good)-1], 0o600) },
		"longer":   func(p string) error { return os.WriteFile(p, append(slices.Clip(good), 'x'), 0o600) },
		"changed":  func(p string) error { return os.WriteFile(p, changed, 0o600) },
		"too long": func(p string) error { return os.WriteFile(p, encode(bytes.Repeat([]byte("x"), 101)), 0o600) },
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a link": func(p string) error {
			return errors.Join(os.WriteFile(p+".to", good, 0o600), os.Symlink(p+".to", p))
		},
		"another version": func(p string) error {
			return os.WriteFile(p, bytes.Replace(good, []byte("state-1"), []byte("state-2"), 1), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var discarded []string
			s := store(t, &discarded)
			if err := errors.Join(os.MkdirAll(s.Dir, 0o700), make(filepath.Join(s.Dir, "a"))); err != nil {
				t.Fatal(err)
			}
			if s.Read("a", 100, func([]byte) error { t.Error("it was used"); return nil }) || !slices.Equal(discarded, []string{"a"}) {
				t.Errorf("discarded %v", discarded)
			}
		})
	}
	var discarded []string
	s := store(t, &discarded)
	if err := s.Write("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if s.Read("a", 100, func([]byte) error { return errors.New("not for me") }) || len(discarded) != 1 {
		t.Errorf("what its reader refuses is not discarded: %v", discarded)
	}
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	var told []string
	s := store(t, &told)
	if err := os.WriteFile(s.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Write("a", nil); err == nil || !slices.Equal(told, []string{"failed a"}) {
		t.Errorf("%v, told %v", err, told)
	}
}

// FuzzDecode: only what encode returns is accepted.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "text", "a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", version} {
		f.Add([]byte(text))
		f.Add(encode([]byte(text)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := decode(data); err == nil && !bytes.Equal(encode(text), data) {
			t.Errorf("%q was taken for %q", data, text)
		}
		if text, err := decode(encode(data)); err != nil || !bytes.Equal(text, data) {
			t.Errorf("%q became %q, %v", data, text, err)
		}
	})
}
