package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// source is what documents are read from: an issuer, or what was kept of it.
type source interface {
	// get reads a document, and says for how long to use it.
	get(ctx context.Context, uri, accept string) ([]byte, time.Duration, error)
}

// recorder remembers what a source said.
type recorder struct {
	source
	parts map[string][]byte
}

func (r *recorder) get(ctx context.Context, uri, accept string) ([]byte, time.Duration, error) {
	body, life, err := r.source.get(ctx, uri, accept)
	if err == nil {
		if r.parts == nil {
			r.parts = map[string][]byte{}
		}
		r.parts[uri] = body
	}
	return body, life, err
}

// document is what an issuer said once: the answers that it gave, by their addresses.
type document struct {
	Read    time.Time         `json:"read"`
	Expires time.Time         `json:"expires"`
	Parts   map[string][]byte `json:"parts"`
}

var errNotKept = errors.New("it was not kept")

func (d *document) get(_ context.Context, uri, _ string) ([]byte, time.Duration, error) {
	body, ok := d.Parts[uri]
	if !ok {
		return nil, 0, &fetchError{uri, errNotKept}
	}
	return body, 0, nil
}

// fetchError is why something could not be read.
type fetchError struct {
	uri string
	err error
}

func (e *fetchError) Error() string { return fmt.Sprintf("fetch %s: %s", e.uri, e.err) }
func (e *fetchError) Unwrap() error { return e.err }

// documents is a folder in memory with the last good documents of issuers, so that a worker that
// starts while an issuer is away goes on by what was read before. Both workers write there what
// they have read. An empty text keeps nothing.
type documents string

const (
	// mostDocumentBytes bounds the folder, in pages of its file system; without room the longest
	// ones go, so that one issuer cannot displace many.
	mostDocumentBytes = 4 << 20
	documentPage      = 4096
	// longestDocument is for two answers in base64.
	longestDocument = 3 * jwt.MaxKeySet
	documentTemp    = ".new"
)

func documentName(kind, uri, ca string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + uri + "\x00" + ca))
	return hex.EncodeToString(sum[:])
}

// get returns what was kept, or nil.
func (d documents) get(name string) *document {
	if d == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestDocument+1))
	if err != nil {
		return nil
	}
	return readDocument(text)
}

// readDocument returns nil for what is not a document.
func readDocument(text []byte) *document {
	var out document
	if len(text) > longestDocument || json.Unmarshal(text, &out) != nil || out.Read.IsZero() || out.Expires.IsZero() {
		return nil
	}
	return &out
}

// put keeps a document, if there is room. If not, only the next process misses it.
func (d documents) put(name string, doc *document) {
	if d == "" {
		return
	}
	text, err := json.Marshal(doc)
	if err != nil || len(text) > longestDocument || os.MkdirAll(string(d), 0o700) != nil || !d.room(name, len(text)) {
		return
	}
	f, err := os.CreateTemp(string(d), name+documentTemp)
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), filepath.Join(string(d), name)) != nil {
		_ = os.Remove(f.Name())
	}
}

func pages(bytes int64) int64 { return (bytes + documentPage - 1) / documentPage * documentPage }

// room makes room for a document, and reports whether there is.
func (d documents) room(name string, size int) bool {
	type file struct {
		name string
		size int64
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return false
	}
	total := pages(int64(size))
	var files []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() == name {
			continue
		}
		files = append(files, file{e.Name(), pages(info.Size())})
		total += pages(info.Size())
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name)) })
	for _, f := range files {
		if total <= mostDocumentBytes {
			return true
		}
		if f.size <= pages(int64(size)) {
			return false // it is the longest one itself
		}
		_ = os.Remove(filepath.Join(string(d), f.name))
		total -= f.size
	}
	return total <= mostDocumentBytes
}

// keep removes the documents that no policy names any more.
func (d documents) keep(names []string, now time.Time) {
	if d == "" {
		return
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return
	}
	used := make(map[string]bool, len(names))
	for _, n := range names {
		used[n] = true
	}
	for _, e := range entries {
		if used[e.Name()] {
			continue
		}
		// The other worker is about to give it its name.
		if info, err := e.Info(); strings.Contains(e.Name(), documentTemp) && err == nil && now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		_ = os.Remove(filepath.Join(string(d), e.Name()))
	}
}
