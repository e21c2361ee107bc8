package install

import (
	"os"
	"testing"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Ready returns the image archives in the tools folder, or why tests on a
// cluster cannot run here.
func Ready() (images []string, why string) {
	images, err := toolset.Images()
	_, missing := toolset.Path("kubelet")
	switch {
	case testing.Short():
		return nil, "a cluster takes long; run without -short"
	case os.Geteuid() != 0:
		return nil, "a cluster of network namespaces needs root"
	case missing != nil:
		return nil, missing.Error()
	case err != nil:
		return nil, err.Error()
	}
	return images, ""
}
