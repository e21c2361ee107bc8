package main

import (
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/kube"
	"github.com/fairlead/fairlead/router/settings"
)

// settingsSource joins the command line with the IngressController as it is
// when asked. Findings are logged when they change, and counted.
func settingsSource(c *config, w *kube.Watcher, log *slog.Logger, registry prometheus.Registerer) func() settings.Settings {
	unusable := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_router_settings_findings", Help: "Settings of the IngressController that cannot be used as they are; the log names them.",
	})
	registry.MustRegister(unusable)
	var logged []api.Finding
	return func() settings.Settings {
		s, findings := settings.From(w.IngressController(), c.flags(log))
		if !slices.Equal(logged, findings) {
			for _, f := range findings {
				log.Error("the IngressController has a setting that cannot be used", "finding", f.String())
			}
			logged = findings
			unusable.Set(float64(len(findings)))
		}
		return s
	}
}

func (c *config) flags(log *slog.Logger) settings.Flags {
	f := c.read(log)
	return settings.Flags{
		RouterName: c.name, Domain: c.domain, HTTPPort: c.httpPort, HTTPSPort: c.httpsPort,
		MaxConn: c.maxConnections, MostConn: c.mostConnections, Threads: c.threads, IPv6: c.ipv6,
		ClientCA: f.clientCA, ClientCRL: f.clientCRL, PageUnavailable: f.pageUnavailable, PageNotFound: f.pageNotFound, DestinationCA: f.destinationCA,
	}
}
