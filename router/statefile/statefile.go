// Package statefile keeps small texts of the router for its next process in the
// same pod. What is read back is checked as if an attacker had written it:
// something wrong is discarded, with a log line and a count, and never used.
package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// version begins each file. Another version of the router discards it.
const version = "fairlead-state-1 "

// headerBytes is the length of the line that begins each file.
const headerBytes = len(version) + 2*sha256.Size + 1

// Store is a folder of such files. Its methods may be called from any goroutine,
// for different files.
type Store struct {
	// Dir is the folder. No other process has to write there.
	Dir string
	Log *slog.Logger
	// Discarded and Failed, if set, count files that were discarded, and
	// writes that failed.
	Discarded, Failed func(name string)
}

// Write replaces a file as a whole. If it cannot, the former one stays.
func (s *Store) Write(name string, text []byte) error {
	err := s.write(name, text)
	if err != nil && s.Failed != nil {
		s.Failed(name)
	}
	return err
}

func (s *Store) write(name string, text []byte) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of %s: %w", name, err)
	}
	tmp, err := os.CreateTemp(s.Dir, ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(encode(text))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(s.Dir, name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Read hands a file of at most so many bytes to a function that checks it, and
// reports whether it did. If the file is not what was written, or the function
// returns an error, nothing of it must be used.
func (s *Store) Read(name string, most int, use func([]byte) error) bool {
	text, err := read(filepath.Join(s.Dir, name), most)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = use(text)
	}
	if err == nil {
		return true
	}
	s.Log.Error("discarding a state file of the former router process: its content is not as it was written", "file", name, "err", err)
	if s.Discarded != nil {
		s.Discarded(name)
	}
	return false
}

// read opens nothing but a plain file: a pipe would keep the router waiting, and
// a link would lead elsewhere.
func read(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // it names the file
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no plain file")
	case info.Size() > int64(headerBytes+most):
		return nil, fmt.Errorf("it has %d bytes, and %d is the most", info.Size(), most)
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(headerBytes+most)+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	if len(data) > headerBytes+most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return decode(data)
}

func encode(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append([]byte(version+hex.EncodeToString(sum[:])+"\n"), text...)
}

func decode(data []byte) ([]byte, error) {
	if len(data) < headerBytes || !bytes.HasPrefix(data, []byte(version)) {
		return nil, errors.New("it does not begin as a file of this version of the router")
	}
	text := data[headerBytes:]
	if !bytes.Equal(data, encode(text)) {
		return nil, errors.New("its checksum is wrong")
	}
	return text, nil
}
