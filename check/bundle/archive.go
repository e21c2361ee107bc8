package bundle

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// nameLength bounds one part of a path; longer ones end in a hash.
const nameLength = 100

// Path joins names of objects to a path below the folder of an archive: whatever they are,
// it stays there, and a terminal shows it as it is.
func Path(names ...string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = safe(name)
	}
	return strings.Join(parts, "/")
}

func safe(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	text := b.String()
	if text == "" {
		return "%"
	}
	if len(text) > nameLength {
		sum := sha256.Sum256([]byte(name))
		text = text[:nameLength-17] + "-" + hex.EncodeToString(sum[:8])
	}
	return text
}

// Archive is a compressed tar file of bounded size.
type Archive struct {
	// LeftOut are files for which there was no room.
	LeftOut []string
	// Files and Bytes are how much was written, before it was compressed.
	Files int
	Bytes int64

	folder string
	room   int64
	at     time.Time
	zip    *gzip.Writer
	tar    *tar.Writer
	seen   map[string]bool
}

// NewArchive writes an archive with one folder. Its files have at most so many bytes
// together.
func NewArchive(w io.Writer, folder string, bytes int64, at time.Time) *Archive {
	z := gzip.NewWriter(w)
	return &Archive{folder: safe(folder), room: bytes, at: at, zip: z, tar: tar.NewWriter(z), seen: map[string]bool{}}
}

// Room is how many bytes are left.
func (a *Archive) Room() int64 { return a.room - a.Bytes }

// Add writes a file, unless there is no room for it. The path is one of Path.
func (a *Archive) Add(path string, content []byte) error {
	if int64(len(content)) > a.Room() {
		a.LeftOut = append(a.LeftOut, fmt.Sprintf("%s: %d bytes", path, len(content)))
		return nil
	}
	return a.write(path, content)
}

// End writes a last file, for which there is always room, and ends the archive.
func (a *Archive) End(path string, content []byte) error {
	if err := a.write(path, content); err != nil {
		return err
	}
	if err := a.tar.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := a.zip.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

func (a *Archive) write(path string, content []byte) error {
	for base, n := path, 2; a.seen[path]; n++ {
		path = fmt.Sprintf("%s-%d", base, n)
	}
	a.seen[path] = true
	header := &tar.Header{Name: a.folder + "/" + path, Mode: 0o600, Size: int64(len(content)), ModTime: a.at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if _, err := a.tar.Write(content); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	a.Files++
	a.Bytes += int64(len(content))
	return nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
