// Package buildinfo is the metric that says which version of a program runs.
package buildinfo

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds fairlead_build_info, whose value is 1, for a program such as "router".
func Register(r prometheus.Registerer, program string) error {
	version, goversion := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version, goversion = Version(info), info.GoVersion
	}
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_build_info", Help: "1, with the program, its version and that of Go as labels.",
	}, []string{"program", "version", "goversion"})
	g.WithLabelValues(program, version, goversion).Set(1)
	return r.Register(g)
}

// Version is what the Go command noted about the source: a tag, or the revision of a development version.
func Version(info *debug.BuildInfo) string {
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && text == "(devel)" {
			text = "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return text
}
