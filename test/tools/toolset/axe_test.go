package toolset

import (
	"strings"
	"testing"
)

// TestAxeSum: a package that is not the pinned one is refused.
func TestAxeSum(t *testing.T) {
	t.Parallel()
	if script, err := axeScript([]byte("another package")); err == nil || script != nil || !strings.Contains(err.Error(), "not the package that was pinned") {
		t.Errorf("%q, %v", script, err)
	}
}
