// Package buildinfo is the metric that says which version of a program runs.
package buildinfo

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/api/version"
)

// Register adds fairlead_build_info, whose value is 1, for a program such as "router".
func Register(r prometheus.Registerer, program string) error {
	own, goversion := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		own, goversion = version.Of(info), info.GoVersion
	}
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_build_info", Help: "1, with the program, its version and that of Go as labels.",
	}, []string{"program", "version", "goversion"})
	g.WithLabelValues(program, own, goversion).Set(1)
	return r.Register(g)
}
