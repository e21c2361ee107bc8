package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

// Cluster is where objects and their changes come from.
type Cluster interface {
	door.Source
	// Wake receives after something changed.
	Wake() <-chan struct{}
	// Take returns what changed since the last call.
	Take() door.Changes
	// Need says which Secrets and ConfigMaps to watch, and WaitForNeeded waits until
	// each of them, or why it cannot be read, is known.
	Need(model.Objects)
	WaitForNeeded(context.Context) bool
}

// StatusSink receives what the router says about routes and policies. Its methods do
// not block.
type StatusSink interface {
	Publish([]model.RouteStatus)
	Forget([]model.Object)
	PublishPolicies([]policy.Report)
}

// Prober asks endpoints whether they are healthy. probe.Prober is the real one.
type Prober interface {
	// Set says what to ask from now on, and does not block.
	Set([]pipeline.Probe)
	// Results receives what has changed.
	Results() <-chan []pipeline.ProbeResult
}

// PageFetcher asks Services for error pages. pagefetch.Fetcher is the real one.
type PageFetcher interface {
	// Set says what to ask from now on, and does not block.
	Set([]model.PageFetch)
	// Results receives what has changed.
	Results() <-chan []pipeline.FetchResult
}

// Options configure an Engine.
type Options struct {
	// Doors are those that objects come in by.
	Doors    []door.Door
	Cluster  Cluster
	Statuses StatusSink
	Layout   render.Layout
	// HAProxy is the process; default is the one that runs in Layout.
	HAProxy HAProxy
	// Counters has what HAProxy has counted, if HAProxy is set; default is nothing.
	Counters Counters
	// Agent is the policy agent beside HAProxy; nil for none.
	Agent Agent
	// Networks returns what the agent never connects to; nil for nothing but what it knows
	// itself.
	Networks func() snapshot.Networks
	// Sessions returns the keys of sessions, which the agent is told; nil for none.
	Sessions func() []snapshot.SessionKey
	// Replicas returns the routers that count shared limits together; nil for none.
	Replicas func() *snapshot.Replicas
	// Prober asks the endpoints of routes with the group health; without one they all count as
	// healthy.
	Prober Prober
	// Pages asks Services for error pages; without one routes show none of those.
	Pages PageFetcher
	// State keeps what the next process reads; default is a folder of the layout.
	State *statefile.Store
	Caps  plan.Capabilities
	// Binary is HAProxy's program, to ask what it has against its files when
	// it does not start. Empty leaves that question out.
	Binary string
	// Settings returns the router-wide settings as they are now. It is asked
	// at each change of everything, and when SettingsChanged, which may be
	// nil, receives.
	Settings        func() settings.Settings
	SettingsChanged <-chan struct{}
	// SettingsRefused, if set, is called when HAProxy refuses the settings, and
	// with nil when others are tried instead.
	SettingsRefused func(*api.Finding)
	// FilesFailed, if set, is called when HAProxy's files cannot be written, and
	// with nil when they can be again.
	FilesFailed func(*api.Finding)
	// Certificate answers for hosts that bring none. Updates come over
	// Certificates, which may be nil.
	Certificate  *model.Certificate
	Certificates <-chan *model.Certificate
	// DriftCheck is how often HAProxy is read back; default DefaultDriftCheck.
	DriftCheck time.Duration
	// ReloadPause is the least time between two reloads that routes need; default is a second.
	ReloadPause time.Duration
	Log         *slog.Logger
	Metrics     *Metrics
}

// completed returns settings with what HAProxy's version allows, and the key of the pod.
func completed(s settings.Settings, caps plan.Capabilities, key string) settings.Settings {
	if !caps.HeaderLists {
		s.Ingest.Agent, s.Ingest.OldHAProxy = false, true
	}
	// HAProxy counts the newline that may follow a text, too.
	s.Ingest.MaxCertificateBytes = caps.MaxPayload - 1
	s.Render.Key, s.Ingest.Key = key, key
	return s
}
