package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/pipeline"
)

// TestStarted: the first time that the router is ready, and no other, it tells
// how long each part of the start took.
func TestStarted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := &Engine{log: slog.New(slog.NewTextHandler(&log, nil)), pipeline: &pipeline.Pipeline{}}
	for _, part := range []string{"list", "compute", "files"} {
		e.startup.end(part)
	}
	e.started()
	e.startup.end("list")
	e.started()
	if got := log.String(); strings.Count(got, "\n") != 1 {
		t.Fatalf("logged %q, want one line", got)
	}
	from := 0
	for _, word := range []string{" routes=0 ", " list=", " compute=", " files=", " haproxy="} {
		at := strings.Index(log.String()[from:], word)
		if at < 0 {
			t.Fatalf("%q is missing, or out of order, in %q", word, log.String())
		}
		from += at
	}
}
