package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/cmd/internal/machine"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/kube"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/revocation"
	"github.com/fairlead/fairlead/router/settings"
)

// settingsReporter hands on what is wrong with the settings: to the log when it
// changes, to a metric, and to the status of the IngressController.
type settingsReporter struct {
	log     *slog.Logger
	object  api.ObjectRef
	metrics *engine.Metrics
	publish func([]api.Finding)
	// found are the findings about values, refusal is HAProxy's, and files says
	// that its files cannot be written; both are nil if there is none.
	found, last    []api.Finding
	refusal, files *api.Finding
	// traces are what the settings have sent.
	traces *traces
}

func newSettingsReporter(c *config, log *slog.Logger, metrics *engine.Metrics, publish func([]api.Finding), traces *traces) *settingsReporter {
	object := api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: c.controllersSpace, Name: c.name}
	return &settingsReporter{log: log, object: object, metrics: metrics, publish: publish, traces: traces}
}

func (t *settingsReporter) report() {
	all := slices.Clone(t.found)
	for _, f := range []*api.Finding{t.refusal, t.files} {
		if f != nil {
			all = append(all, *f)
		}
	}
	unusable := 0
	for _, f := range all {
		switch {
		case f.Severity != api.SeverityInfo:
			unusable++
			if !slices.Contains(t.last, f) {
				t.log.Error("the IngressController has a setting that cannot be used", "finding", f.String())
			}
		case !slices.Contains(t.last, f):
			t.log.Info("the IngressController has a setting without effect", "finding", f.String())
		}
	}
	t.last = all
	t.metrics.SetSettingsFindings(unusable)
	t.publish(all)
}

// refused takes HAProxy's refusal of the settings, nil if there is none.
func (t *settingsReporter) refused(f *api.Finding) {
	if t.refusal = f; f != nil {
		f.Object = t.object
	}
	t.report()
}

// filesFailed takes that HAProxy's files cannot be written, nil if they can.
func (t *settingsReporter) filesFailed(f *api.Finding) {
	if t.files = f; f != nil {
		f.Object = t.object
	}
	t.report()
}

// firstFetch is how long the first settings wait for revocation lists, so that a
// router that starts refuses no clients for a moment.
const firstFetch = 10 * time.Second

// source joins the command line with the IngressController as it is when asked.
func (t *settingsReporter) source(ctx context.Context, c *config, w *kube.Watcher, lists *revocation.Fetcher) func() settings.Settings {
	waited := false
	read := func() (settings.Settings, []api.Finding) {
		flags := c.flags(t.log, lists.Lists(), w)
		flags.CollectorProblem = t.traces.exporter.Problem()
		s, findings := settings.From(w.IngressController(), flags)
		return s, slices.Concat(w.Refused(), findings)
	}
	return func() settings.Settings {
		s, findings := read()
		lists.Want(s.FetchRevocations)
		t.traces.want(s.Collector, s.Render.KeepFailed)
		if s.FetchRevocations != "" && !waited {
			waited = true
			limited, cancel := context.WithTimeout(ctx, firstFetch)
			lists.Wait(limited)
			cancel()
			s, findings = read()
		}
		t.found = findings
		t.report()
		return s
	}
}

func (c *config) flags(log *slog.Logger, lists settings.Revocations, w *kube.Watcher) settings.Flags {
	f := c.read(log)
	slots := func(b gateway.Block) render.Slots {
		if !w.HasGateways() {
			return render.Slots{}
		}
		return render.Slots{First: int(b.First), Count: int(w.SlotCount(b))}
	}
	return settings.Flags{
		HTTPSlots: slots(gateway.HTTP), HTTPSSlots: slots(gateway.HTTPS), FallbackSlots: slots(gateway.Fallback), TLSSlots: slots(gateway.TLS), TCPSlots: slots(gateway.TCP),
		RouterName: c.name, Domain: c.domain, HTTPPort: c.httpPort, HTTPSPort: c.httpsPort,
		MaxConn: c.maxConnections, Files: machine.Files(), Threads: c.threads, IPv6: c.ipv6,
		ClientCA: f.clientCA, ClientCRL: f.clientCRL, PageUnavailable: f.pageUnavailable, PageNotFound: f.pageNotFound, DestinationCA: f.destinationCA, SystemCA: c.system,
		OneLogFormat: c.oneLogFormat, Revocations: lists, LogSocket: c.logSocket, AgentDir: c.agentDir, FirewallDir: c.firewallDir,
	}
}
