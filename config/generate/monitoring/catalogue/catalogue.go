// Package catalogue lists the metrics of the programs: it registers what they register, without a cluster, and reads
// names, labels and help texts of that. The reference in docs/monitoring is made of it, and rules and dashboards are
// checked against it.
package catalogue

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/lbprovider/bgp/process"
	lbcloud "github.com/fairlead/fairlead/lbprovider/cloud/controller"
	lbcontroller "github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/speaker"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/dns"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
	"github.com/fairlead/fairlead/router/agent"
	agentprocess "github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/relay"
	"github.com/fairlead/fairlead/router/buildinfo"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/firewall"
	"github.com/fairlead/fairlead/router/kube"
	"github.com/fairlead/fairlead/router/observe/export"
	"github.com/fairlead/fairlead/router/observe/feed"
	"github.com/fairlead/fairlead/router/probe"
	"github.com/fairlead/fairlead/router/share/peers"
)

// Kind is a metric's type, as Prometheus names it.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one metric of a program.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
}

// Program is what serves a page of metrics.
type Program struct {
	Name string
	// Page says where the page is.
	Page    string
	Metrics []Metric
}

// Programs returns all of them with their metrics by name.
func Programs() ([]Program, error) {
	var programs []Program
	for _, p := range []struct {
		name, page string
		register   func(prometheus.Registerer) error
	}{
		{"router", "port 1936 of the routers' pods, path `/metrics`", router},
		{"agent", "with the router's, on its page", policyAgent},
		{"firewall", "with the router's, on its page, where the IngressController has one", judge},
		{"operator", "port 8080 of the operator's pods, path `/metrics`", operators},
		{"speaker", "port 7472 of the speakers' nodes, path `/metrics`", speakers},
	} {
		r := &recorder{}
		if err := p.register(r); err != nil {
			return nil, fmt.Errorf("register the metrics of the %s: %w", p.name, err)
		}
		metrics, err := r.metrics()
		if err != nil {
			return nil, fmt.Errorf("list the metrics of the %s: %w", p.name, err)
		}
		programs = append(programs, Program{Name: p.name, Page: p.page, Metrics: metrics})
	}
	return programs, nil
}

func router(r prometheus.Registerer) error {
	engine.NewMetrics(r)
	kube.RegisterStats(r, &kube.StatusWriter{})
	probe.NewMetrics(r)
	feed.New(nil, nil, r)
	export.New(export.Options{}, r)
	return buildinfo.Register(r, "router")
}

func policyAgent(r prometheus.Registerer) error {
	agentprocess.RegisterMetrics(r)
	(&peers.Member{}).Register(r)
	relay.NewMetrics(r)
	return agent.RegisterMetrics(r)
}

func judge(r prometheus.Registerer) error {
	firewall.NewMetrics(r)
	return nil
}

func operators(r prometheus.Registerer) error {
	return each(r, operator.RegisterMetrics, canary.RegisterMetrics, dns.RegisterMetrics, ingress.RegisterMetrics,
		lbcontroller.RegisterMetrics, lbcloud.RegisterMetrics, func(r prometheus.Registerer) error { return buildinfo.Register(r, "operator") })
}

func speakers(r prometheus.Registerer) error {
	return each(r, speaker.RegisterMetrics, process.RegisterMetrics,
		func(r prometheus.Registerer) error { _, err := l2.NewMetrics(r); return err },
		func(r prometheus.Registerer) error {
			_, err := bfd.New(bfd.Options{Registerer: r, Log: slog.New(slog.DiscardHandler)})
			return err
		},
		func(r prometheus.Registerer) error { return buildinfo.Register(r, "speaker") })
}

func each(r prometheus.Registerer, all ...func(prometheus.Registerer) error) error {
	for _, register := range all {
		if err := register(r); err != nil {
			return err
		}
	}
	return nil
}

// recorder is a Registerer that keeps what it gets.
type recorder struct{ collectors []prometheus.Collector }

// Register implements prometheus.Registerer.
func (r *recorder) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *recorder) MustRegister(c ...prometheus.Collector) { r.collectors = append(r.collectors, c...) }

// Unregister implements prometheus.Registerer.
func (r *recorder) Unregister(prometheus.Collector) bool { return false }

// metrics returns one Metric for each name.
func (r *recorder) metrics() ([]Metric, error) {
	byName := map[string]Metric{}
	for _, c := range r.collectors {
		descs := make(chan *prometheus.Desc)
		go func() {
			c.Describe(descs)
			close(descs)
		}()
		for d := range descs {
			m, err := parse(d.String())
			if err != nil {
				return nil, err
			}
			m.Kind = kindOf(c, m.Name)
			// The supervisor of the agent and its workers share names.
			for _, l := range byName[m.Name].Labels {
				if !slices.Contains(m.Labels, l) {
					m.Labels = append(m.Labels, l)
				}
			}
			byName[m.Name] = m
		}
	}
	var all []Metric
	for _, m := range byName {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// kindOf returns the type of a metric. Collectors of our own and functions do not say it; their counters are those of
// the names, and a test compares all with what the programs serve.
func kindOf(c prometheus.Collector, name string) Kind {
	switch c.(type) {
	case *prometheus.HistogramVec:
		return Histogram
	case *prometheus.GaugeVec:
		return Gauge
	case *prometheus.CounterVec:
		return Counter
	case prometheus.Gauge: // has all methods of a counter
		return Gauge
	case prometheus.Counter:
		return Counter
	case prometheus.Histogram:
		return Histogram
	}
	if name == "fairlead_route_request_duration_seconds" { // which the engine writes itself
		return Histogram
	}
	if slices.Contains(metalLBCounters(), name) || strings.HasSuffix(name, "_total") && !strings.HasSuffix(name, "_prefixes_total") {
		return Counter
	}
	return Gauge
}

// metalLBCounters are counters whose names, MetalLB's, do not end in _total.
func metalLBCounters() []string {
	var names []string
	for _, of := range []struct{ prefix, names string }{
		{"metallb_layer2_", "requests_received responses_sent gratuitous_sent"},
		{"metallb_bgp_", "opens_sent opens_received notifications_sent updates_total_received keepalives_sent keepalives_received route_refresh_sent total_sent total_received"},
		{"metallb_bfd_", "control_packet_input control_packet_output session_up_events session_down_events"},
	} {
		for name := range strings.FieldsSeq(of.names) {
			names = append(names, of.prefix+name)
		}
	}
	return names
}

// parse reads the text of a prometheus.Desc, which has no other access to its parts.
func parse(text string) (Metric, error) {
	parts := regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), (?:unit: "[^"]*", )?constLabels: \{\}, variableLabels: \{(.*)\}\}$`).FindStringSubmatch(text)
	if parts == nil {
		return Metric{}, fmt.Errorf("read the description %s", text)
	}
	name, err := strconv.Unquote(parts[1])
	if err != nil {
		return Metric{}, fmt.Errorf("read the name in %s: %w", text, err)
	}
	help, err := strconv.Unquote(parts[2])
	if err != nil {
		return Metric{}, fmt.Errorf("read the help in %s: %w", text, err)
	}
	m := Metric{Name: name, Help: help}
	if parts[3] != "" {
		m.Labels = strings.Split(parts[3], ",")
	}
	return m, nil
}
