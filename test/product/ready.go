package product

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Ready returns the image archives below the project's root, or why tests on a
// cluster cannot run here.
func Ready(root string) (images []string, why string) {
	images, err := filepath.Glob(filepath.Join(root, ".tools/images/*.tar"))
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
