package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestRouterImageHasNoShell lists what the router's image gets of Debian: HAProxy
// with its loader and libraries, and nothing that could be run instead.
func TestRouterImageHasNoShell(t *testing.T) {
	t.Parallel()
	haproxy, err := toolset.Path("haproxy")
	if err != nil {
		t.Skipf("no HAProxy (run \"make tools\"): %v", err)
	}
	files, err := closure(filepath.Join(filepath.Dir(filepath.Dir(haproxy)), "haproxy-3.4", "root"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := newLayerWriter(&packed)
	w.files(files)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		names = append(names, path.Base(h.Name))
		if h.Name != "usr/sbin/haproxy" && !strings.Contains(path.Base(h.Name), ".so") {
			t.Errorf("%s is neither HAProxy nor a library", h.Name)
		}
	}
	for _, want := range []string{"haproxy", "libc.so.6", "libssl.so.3", "libm.so.6", unwind} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing among %q", want, names)
		}
	}
}
