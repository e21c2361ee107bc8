package product

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Ready returns the image archives in the tools folder, or why tests on a
// cluster cannot run here.
func Ready() (images []string, why string) {
	dir, err := toolset.Dir()
	if err == nil {
		images, err = filepath.Glob(filepath.Join(dir, "images", "*.tar"))
	}
	_, missing := toolset.Path("kubelet")
	switch {
	case testing.Short():
		return nil, "a cluster takes long; run without -short"
	case os.Geteuid() != 0:
		return nil, "a cluster of network namespaces needs root"
	case missing != nil:
		return nil, missing.Error()
	case err != nil || len(images) < 5:
		return nil, "images are missing: run make images"
	}
	return images, ""
}
