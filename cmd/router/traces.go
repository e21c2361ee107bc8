package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/api/version"
	"github.com/fairlead/fairlead/cmd/internal/parts"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/observe/export"
	"github.com/fairlead/fairlead/router/observe/feed"
	"github.com/fairlead/fairlead/router/observe/trace"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/settings"
)

// traces read HAProxy's records of requests, and send those of traces on.
type traces struct {
	feed     *feed.Feed
	exporter *export.Exporter
}

func newTraces(c *config, caps plan.Capabilities, log *slog.Logger, registry *prometheus.Registry, changed func()) (*traces, error) {
	runtime, err := haproxy.NewRuntime(c.layout(), caps)
	if err != nil {
		return nil, err
	}
	source := trace.Source{Router: c.name, Namespace: c.namespace}
	if info, ok := debug.ReadBuildInfo(); ok {
		source.Version = version.Of(info)
	}
	if source.Pod, err = os.Hostname(); err != nil {
		log.Warn("spans do not say which pod they are of", "err", err)
	}
	authorities := func() string {
		pem := c.read(log).destinationCA
		if c.system != nil {
			pem += "\n" + c.system.PEM
		}
		return pem
	}
	return &traces{
		feed:     feed.New(runtime, log, registry),
		exporter: export.New(export.Options{Source: source, CA: authorities, Changed: changed, Log: log}, registry),
	}, nil
}

// want has spans sent to a collector, or none made, and requests that fail kept, or none.
func (t *traces) want(c settings.Collector, keepFailed bool) {
	t.feed.Keep(keepFailed)
	t.exporter.Want(c)
	if t.exporter.On() {
		t.feed.Trace(t.exporter.Take)
	} else {
		t.feed.Trace(nil)
	}
}

func (t *traces) start(ctx context.Context, p *parts.Parts) {
	p.Start("requests", func() error { return t.feed.Run(ctx) })
	p.Start("traces", func() error { return t.exporter.Run(ctx) })
}
