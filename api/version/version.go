// Package version says which version a program is.
package version

import "runtime/debug"

// release is what "make release" has the linker write here, such as v1.2.3; empty for other builds.
var release string

// Of returns the version of the program that info is about: that of the release, or what the Go command noted about
// the source: a tag, or the revision of a development version.
func Of(info *debug.BuildInfo) string {
	if release != "" {
		return release
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && text == "(devel)" {
			text = "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return text
}

// Line returns what a program prints about its version: the version, and that of Go.
func Line() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return Of(info) + " " + info.GoVersion
}
