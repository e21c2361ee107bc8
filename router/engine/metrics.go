package engine

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/pipeline"
)

// Metrics are the router's own numbers; HAProxy's come from its own exporter.
// Cardinality is fixed: the labels are the reason of a reload, the name of a file,
// the group and state of policies, of which there are a handful; reasons of findings, of
// which there is a table; and 200 routes, each with the groups and statuses by which its
// requests were refused. The series of trafficMetrics have a budget.
type Metrics struct {
	reloads        *prometheus.CounterVec
	reloadFailures prometheus.Counter
	updates        prometheus.Histogram
	applies        prometheus.Histogram
	steps          prometheus.Counter
	drift          prometheus.Counter
	readBacks      prometheus.Counter
	routes         *prometheus.GaugeVec
	oldWorkers     prometheus.Gauge
	// oldWorkersEnded counts those that more reloads than their number allows end.
	waitingRoutes   prometheus.Gauge
	refusedSources  prometheus.Gauge
	oldWorkersEnded prometheus.Counter
	stateDiscarded  *prometheus.CounterVec
	writeFailures   *prometheus.CounterVec
	filesStale      prometheus.Gauge
	// agentBehind and agentLeft are about the policy agent.
	agentBehind, agentLeft prometheus.Gauge
	policies               *prometheus.GaugeVec
	ejected                prometheus.Gauge
	policyLive             prometheus.Histogram
	answers                *prometheus.CounterVec
	findings               *prometheus.GaugeVec
	settingsFindings       prometheus.Gauge
	changeLive             prometheus.Histogram
	traffic                *trafficMetrics
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	buckets := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	m := &Metrics{
		reloads:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_router_reloads_total", Help: "Reloads of HAProxy, by reason."}, []string{"reason"}),
		reloadFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_reload_failures_total", Help: "Reloads that HAProxy refused; the old process keeps serving."}),
		updates:        prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_router_plan_duration_seconds", Help: "Time to compute the wanted state after changes.", Buckets: buckets}),
		applies:        prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_router_apply_duration_seconds", Help: "Time to apply a plan to HAProxy.", Buckets: buckets}),
		steps:          prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_runtime_commands_total", Help: "Changes that the router made in HAProxy at run time."}),
		drift:          prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_drift_corrections_total", Help: "Changes that another program made in HAProxy and the router reverted."}),
		readBacks:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_state_reads_total", Help: "Times that all of HAProxy's state was read, because a digest of it was not as expected."}),
		routes:         prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_router_routes", Help: "Routes that this router knows, by state: served, last_good (a former version is served, because the newest cannot be) or refused."}, []string{"state"}),

		oldWorkers:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_old_workers", Help: "Workers of HAProxy that reloads have replaced and that still have connections."}),
		oldWorkersEnded: prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_old_workers_ended_total", Help: "Old workers of HAProxy that were ended with their connections, because there were too many of them."}),
	}
	m.stateDiscarded = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_router_state_discarded_total", Help: "Files of a former process of the router that were not as it wrote them, and were not used."}, []string{"file"})
	m.writeFailures = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_router_write_failures_total", Help: "Files that could not be written, by name; haproxy stands for all that HAProxy starts from."}, []string{"file"})
	m.waitingRoutes = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_waiting_routes", Help: "Changed routes that wait for their turn, or have it and are not served as changed yet."})
	m.refusedSources = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_refused_sources", Help: "Sources of connections that have reached a limit of connections and were refused some lately."})
	m.filesStale = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_files_stale", Help: "1 while the files that HAProxy starts from cannot be written."})
	m.agentBehind = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_agent_behind", Help: "1 while the policy agent does not decide by the newest policies; requests that it does not know get 503."})
	m.agentLeft = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_agent_policies_left_out", Help: "Policies that have no room in what the policy agent gets; their requests get 503."})
	m.policies = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_router_policies", Help: "RoutePolicies and ClusterRoutePolicies that set a group, by what became of it at the worst of their objects: enforced, overridden, conflicted or closed."}, []string{"group", "state"})
	m.ejected = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_ejected_endpoints", Help: "Endpoints of Routes that get no requests for a while, because too many have failed."})
	m.policyLive = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_router_policy_live_duration_seconds", Help: "Time from when the router sees a changed RoutePolicy or ClusterRoutePolicy until HAProxy serves all its Routes by it.", Buckets: buckets})
	m.answers = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_router_policy_answers_total", Help: "Requests that policies and annotations refused, by Route, group and status; of 200 Routes, of all others together as other."}, []string{"namespace", "route", "group", "code"})
	m.findings = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_router_findings", Help: "Routes with a finding, by its reason and severity."}, []string{"reason", "severity"})
	m.settingsFindings = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_router_settings_findings", Help: "Settings of the IngressController that cannot be used as they are; its condition SettingsApplied names them."})
	m.changeLive = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_router_change_to_live_seconds", Help: "Time from when the router sees that a Route, or what it depends on, has changed until HAProxy serves the Route as changed.", Buckets: append(buckets, 5, 10, 30, 60)})
	m.traffic = newTrafficMetrics()
	r.MustRegister(m.traffic, m.findings, m.settingsFindings, m.changeLive, m.answers, m.policyLive, m.ejected, m.policies, m.agentBehind, m.agentLeft, m.stateDiscarded, m.writeFailures, m.filesStale, m.waitingRoutes, m.refusedSources, m.oldWorkers, m.oldWorkersEnded, m.reloads, m.reloadFailures, m.updates, m.applies, m.steps, m.drift, m.readBacks, m.routes)
	return m
}

// StateDiscarded counts a file of a former process that was not used.
func (m *Metrics) StateDiscarded(name string) { m.stateDiscarded.WithLabelValues(name).Inc() }

// WriteFailed counts a file that could not be written.
func (m *Metrics) WriteFailed(name string) { m.writeFailures.WithLabelValues(name).Inc() }

func (m *Metrics) observeUpdate(d time.Duration) { m.updates.Observe(d.Seconds()) }

func (m *Metrics) observeApply(d time.Duration, steps int) {
	m.applies.Observe(d.Seconds())
	m.steps.Add(float64(steps))
}

func (m *Metrics) observePolicies(took []time.Duration) {
	for _, d := range took {
		m.policyLive.Observe(d.Seconds())
	}
}

func (m *Metrics) setPolicies(counts map[pipeline.PolicyCount]int) {
	m.policies.Reset()
	for c, n := range counts {
		m.policies.WithLabelValues(string(c.Group), string(c.State)).Set(float64(n))
	}
}

func (m *Metrics) addAnswers(r routeName, group, code string, n uint64) {
	m.answers.WithLabelValues(r.namespace, r.route, group, code).Add(float64(n))
}

// forgetAnswers removes the series of a route.
func (m *Metrics) forgetAnswers(r routeName) {
	m.answers.DeletePartialMatch(prometheus.Labels{"namespace": r.namespace, "route": r.route})
}

func (m *Metrics) setWaiting(routes int) { m.waitingRoutes.Set(float64(routes)) }

func (m *Metrics) setRoutes(known, served int, c *census) {
	m.routes.WithLabelValues("served").Set(float64(served - c.lastGood))
	m.routes.WithLabelValues("last_good").Set(float64(c.lastGood))
	m.routes.WithLabelValues("refused").Set(float64(known - served))
	for kind, n := range c.findings {
		m.findings.WithLabelValues(string(kind.reason), string(kind.severity)).Set(float64(n))
	}
}

// SetSettingsFindings takes how many settings cannot be used as they are.
func (m *Metrics) SetSettingsFindings(n int) { m.settingsFindings.Set(float64(n)) }

func (m *Metrics) observeLive(took []time.Duration) {
	for _, d := range took {
		m.changeLive.Observe(d.Seconds())
	}
}

// readiness is true once every known route has been applied.
type readiness struct{ ready atomic.Bool }

func (r *readiness) set(v bool) { r.ready.Store(v) }

// Ready reports whether HAProxy serves every route that the router knows.
func (e *Engine) Ready() bool { return e.ready.ready.Load() }

// Reported reports whether the sink of statuses has had those of all routes that there were when
// the router was ready for the first time, which is a moment later.
func (e *Engine) Reported() bool { return e.reported.Load() }
