package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead/fairlead/cmd/internal/memory"
	"github.com/fairlead/fairlead/cmd/internal/parts"
	"github.com/fairlead/fairlead/cmd/internal/reconnect"
	"github.com/fairlead/fairlead/router/access"
	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/buildinfo"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/health"
	"github.com/fairlead/fairlead/router/kube"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pagefetch"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/probe"
	"github.com/fairlead/fairlead/router/replicas"
	"github.com/fairlead/fairlead/router/revocation"
	"github.com/fairlead/fairlead/router/sessionkeys"
	"github.com/fairlead/fairlead/router/statefile"
)

// runHAProxy only keeps HAProxy running.
func runHAProxy(ctx context.Context, args []string, log *slog.Logger) error {
	c, err := parseFlags(args, true)
	if err != nil {
		return err
	}
	layout := c.layout()
	_, version, err := haproxy.Detect(ctx, c.haproxy)
	if err != nil {
		return err
	}
	if err := haproxy.MakeRunDir(layout); err != nil {
		return err
	}
	log.Info("keeping HAProxy running", "version", version, "dir", c.workDir)
	s := &haproxy.Supervisor{Binary: c.haproxy, Layout: layout, Ambient: ambientBind(), Memory: haproxy.ContainerMemory, Log: log}
	return s.Run(ctx, c.grace)
}

func runRouter(ctx context.Context, args []string, log *slog.Logger) error {
	c, err := parseFlags(args, false)
	if err != nil {
		return err
	}
	if c.system, err = certfile.System(c.systemCA); err != nil {
		log.Warn("BackendTLSPolicies that want the authorities of the image are refused", "err", err)
	}
	// What serves lives on while the stop signal is being noticed elsewhere.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	p := parts.New()
	server, err := assemble(serving, c, log, p)
	if err != nil {
		return err
	}
	stopHAProxy := supervise(context.WithoutCancel(ctx), c, log)
	select {
	case err := <-p.Failed():
		return err
	case <-ctx.Done():
	}
	log.Info("stopping: not ready from now on, requests are served for a while", "delay", c.shutdownDelay)
	server.Stop()
	lastClients{delay: c.shutdownDelay, accepted: acceptedBy(c)}.wait(log)
	stopHAProxy()
	stopServing()
	p.Wait()
	return nil
}

// runEngine runs the engine from when all has been read.
func runEngine(ctx context.Context, watcher *kube.Watcher, engine *engine.Engine) error {
	if !watcher.WaitForSync(ctx) {
		return nil
	}
	return engine.Run(ctx)
}

// serve starts what answers on the ports of our own.
func serve(ctx context.Context, p *parts.Parts, server *health.Server, c *config) {
	p.Start("health", func() error { return server.Run(ctx, c.statsPort) })
	if c.healthPort > 0 {
		p.Start("probes", func() error { return server.RunProbes(ctx, c.healthPort) })
	}
}

// cluster returns what reads the API server, and what writes status to it.
func cluster(c *config, restConfig *rest.Config, state *statefile.Store, log *slog.Logger) (*kube.Watcher, *kube.StatusWriter, error) {
	watcher, err := kube.New(kube.Options{
		Config: restConfig, RouterName: c.name, ControllerNamespace: c.controllersSpace, Namespace: c.namespace, Log: log,
		Admitted: func() *operatorv1.IngressControllerSpec { return c.admitted(state) },
		Accepted: func(spec *operatorv1.IngressControllerSpec) { c.accepted(state, spec) },
	})
	if err != nil {
		return nil, nil, err
	}
	statuses, err := kube.NewStatusWriter(kube.StatusOptions{Watcher: watcher, CanonicalHostname: c.canonicalHostname, LeaseNamespace: c.namespace, Log: log})
	return watcher, statuses, err
}

// assemble connects and starts the parts of the router, save HAProxy.
func assemble(ctx context.Context, c *config, log *slog.Logger, p *parts.Parts) (*health.Server, error) {
	restConfig, err := loadConfig(c.kubeconfig, log)
	if err != nil {
		return nil, err
	}
	registry, err := newRegistry()
	if err != nil {
		return nil, err
	}
	metrics, layout := engine.NewMetrics(registry), c.layout()
	state := &statefile.Store{Dir: cmp.Or(c.stateDir, layout.StateDir()), Log: log, Discarded: metrics.StateDiscarded, Failed: metrics.WriteFailed}
	watcher, statuses, err := cluster(c, restConfig, state, log)
	if err != nil {
		return nil, err
	}
	// Reading everything is most of a start, so it begins before all else.
	p.Start("watch", func() error { return watcher.Run(ctx) })
	caps, err := detect(ctx, c, log)
	if err != nil {
		return nil, err
	}
	kube.RegisterStats(registry, statuses)
	cert, certs, err := defaultCertificate(ctx, c, log)
	if err != nil {
		return nil, err
	}
	ring, rung := parts.Bell()
	traces, err := newTraces(c, caps, log, registry, ring)
	if err != nil {
		return nil, err
	}
	metrics.SampleBy(traces.feed)
	reporter := newSettingsReporter(c, log, metrics, statuses.PublishSettings, traces)
	lists := revocation.New(revocation.Options{State: state, Changed: ring, Log: log})
	prober, pages := probe.New(log, probe.NewMetrics(registry)), pagefetch.New()
	engine, err := engine.New(engine.Options{
		Doors: doors.All(), Agent: policyAgent(c), Prober: prober, Pages: pages,
		Cluster: watcher, Networks: watcher.Networks, Sessions: (&sessionkeys.Folder{Dir: c.sessionKeys, Log: log}).Keys,
		Replicas: replicasOf(c, watcher, log), Statuses: statuses, Layout: layout, State: state, Caps: caps, Binary: c.haproxy,
		Settings: reporter.source(ctx, c, watcher, lists), SettingsChanged: rung, SettingsRefused: reporter.refused, FilesFailed: reporter.filesFailed,
		Certificate: cert, Certificates: certs, Log: log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	server := &health.Server{
		Ready: engine.Ready, Metrics: metricsOf(c, registry), Routes: metrics.WriteRoutes, StatsSocket: layout.RunDir() + "/stats.sock", AuthDir: c.statsAuth,
		Certificate: certfile.TLS(c.certificate, cert),
	}
	reviewer, err := access.New(restConfig, c.name)
	if err != nil {
		return nil, err
	}
	// Clients with a right of the API server's look at metrics and requests.
	server.Access, server.Observed = reviewer.Review, traces.feed
	traces.start(ctx, p)
	serve(ctx, p, server, c)
	go watchFiles(ctx, c, log, ring)
	p.Start("revocation lists", func() error { return lists.Run(ctx) })
	go memory.Save(ctx, engine.Ready)
	startAll(ctx, p, prober, pages, statuses, func() error { return runEngine(ctx, watcher, engine) })
	return server, nil
}

// detect asks HAProxy what it can do.
func detect(ctx context.Context, c *config, log *slog.Logger) (plan.Capabilities, error) {
	caps, version, err := haproxy.Detect(ctx, c.haproxy)
	if err == nil {
		c.oneLogFormat = !caps.LogProfiles
		log.Info("router starts", "name", c.name, "haproxy", version, "reloadFree", caps.DynamicBackends)
	}
	return caps, err
}

func startAll(ctx context.Context, p *parts.Parts, prober *probe.Prober, pages *pagefetch.Fetcher, statuses *kube.StatusWriter, engine func() error) {
	p.Start("probes", func() error { return prober.Run(ctx) })
	p.Start("pages of Services", func() error { return pages.Run(ctx) })
	p.Start("status", func() error { return statuses.Run(ctx) })
	p.Start("engine", engine)
}

// policyAgent is the agent beside HAProxy, or nil.
func policyAgent(c *config) engine.Agent {
	if c.agentDir == "" {
		return nil
	}
	return process.Client{Dir: c.agentDir}
}

// metricsOf returns the metrics of the router, and of agent and firewall where they are.
func metricsOf(c *config, registry *prometheus.Registry) prometheus.Gatherer {
	var all prometheus.Gatherer = registry
	if c.agentDir != "" {
		all = process.Beside(all, filepath.Join(c.agentDir, process.MetricsSocket))
	}
	if c.firewallDir != "" {
		all = process.Beside(all, filepath.Join(c.firewallDir, model.FirewallMetricsSocket))
	}
	return all
}

// replicasOf returns what is known of the routers that count shared limits together, or nil.
func replicasOf(c *config, watcher *kube.Watcher, log *slog.Logger) func() *snapshot.Replicas {
	if c.agentDir == "" || c.agentCertificates == "" {
		return nil
	}
	return (&replicas.Source{Dir: c.agentCertificates, Pods: watcher.Pods, Log: log}).Replicas
}

// newRegistry returns metrics of the process.
func newRegistry() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry, buildinfo.Register(registry, "router")
}

// supervise keeps HAProxy running, unless another process does, and returns
// the function that lets it finish its requests and waits for its end.
func supervise(ctx context.Context, c *config, log *slog.Logger) (stop func()) {
	if !c.supervise {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &haproxy.Supervisor{Binary: c.haproxy, Layout: c.layout(), Ambient: ambientBind(), Memory: haproxy.ContainerMemory, Log: log}
		if err := s.Run(ctx, c.grace); err != nil {
			log.Error("stop HAProxy", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func loadConfig(kubeconfig string, log *slog.Logger) (*rest.Config, error) {
	cfg, err := readConfig(kubeconfig)
	if err == nil {
		reconnect.Wrap(cfg, log)
	}
	return cfg, err
}

func readConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the API server: %w; outside a cluster name a file with --kubeconfig", err)
		}
		return cfg, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return cfg, nil
}

func defaultCertificate(ctx context.Context, c *config, log *slog.Logger) (*model.Certificate, <-chan *model.Certificate, error) {
	if c.certificate == "" {
		log.Info("no default certificate given; using a self-signed one", "domain", c.domain)
		cert, err := certfile.SelfSigned(c.domain)
		return cert, nil, err
	}
	cert, err := certfile.Load(c.certificate)
	if err != nil {
		return nil, nil, err
	}
	return cert, certfile.Watch(ctx, c.certificate, cert, log), nil
}
