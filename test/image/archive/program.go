package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Program writes an archive with an image of one static program, which has all of the names: a test bed's stand-in for
// images that manifests of others name. It has no bill of materials, since nothing of it is passed on. It runs as user 0,
// who alone may use what capabilities those manifests add, such as that for port 53.
func Program(file, program string, names []string) error {
	img := image{name: filepath.Base(program), user: "0:0"}
	layer, err := newLayer(func(l *layerWriter) { l.base(img, []string{program}) })
	if err != nil {
		return err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fmt.Errorf("assemble: %w", err)
	}
	built, err = configure(built, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: []string{"/usr/bin/" + img.name}, User: img.user, WorkingDir: "/"},
	})
	if err != nil {
		return err
	}
	tags := map[name.Tag]v1.Image{}
	for _, n := range names {
		tag, err := name.NewTag(n)
		if err != nil {
			return fmt.Errorf("name: %w", err)
		}
		tags[tag] = built
	}
	if err := tarball.MultiWriteToFile(file+".new", tags); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
