package version

import (
	"runtime/debug"
	"testing"
)

// TestOf: a release is called what it is, other builds what Go knows of their source.
func TestOf(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	for _, test := range []struct {
		release, main, want string
		settings            []debug.BuildSetting
	}{
		{"v1.2.3", "(devel)", "v1.2.3", revision},
		{"", "v1.2.4", "v1.2.4", revision},
		{"", "(devel)", "devel 0123456789ab", revision},
		{"", "(devel)", "(devel)", nil},
	} {
		release = test.release
		if got := Of(&debug.BuildInfo{Main: debug.Module{Version: test.main}, Settings: test.settings}); got != test.want {
			t.Errorf("release %q, module %q: %q, want %q", test.release, test.main, got, test.want)
		}
	}
	release = ""
}
