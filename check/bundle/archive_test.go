package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what is shown into testdata")

// listing is what `tar tvz` would show: mode, size and name of each file.
func listing(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%04o %6d %s %s\n", h.Mode, h.Size, h.ModTime.UTC().Format(time.RFC3339), h.Name)
	}
}

// TestArchive: names that try to leave the folder, and names that are there twice; a file
// without room is left out and named, and the last file always has room.
func TestArchive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := NewArchive(&out, "fairlead-collect", 1000, time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	for _, f := range []struct {
		names []string
		bytes int
	}{
		{[]string{"objects", "web", "routes.route.openshift.io.yaml"}, 100},
		{[]string{"logs", "..", "../../etc/passwd", "a\x1b[2Jb.log"}, 100},
		{[]string{"logs", "", "/", ".hidden"}, 100},
		{[]string{"logs", strings.Repeat("x", 300) + "1"}, 100},
		{[]string{"logs", strings.Repeat("x", 300) + "2"}, 100},
		{[]string{"objects", "web", "routes.route.openshift.io.yaml"}, 100},
		{[]string{"logs", "large.log"}, 401},
		{[]string{"logs", "small.log"}, 400},
	} {
		if err := a.Add(Path(f.names...), make([]byte, f.bytes)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.End("collect.json", make([]byte, 50)); err != nil {
		t.Fatal(err)
	}
	got := listing(t, &out) + fmt.Sprintf("left out: %q\n", a.LeftOut)
	const file = "testdata/listing.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
