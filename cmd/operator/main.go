// Command operator runs Fairlead's operator: it makes routers of
// IngressControllers, Routes of Ingresses, and gives load-balancer addresses
// to Services.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/reconnect"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	addresses "github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/lbprovider/scrape"
	"github.com/fairlead/fairlead/lbprovider/service"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/operator/effective"
	gateway "github.com/fairlead/fairlead/operator/gateway/controller"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
	"github.com/fairlead/fairlead/router/buildinfo"
	convert "github.com/fairlead/fairlead/router/door/ingress"
	router "github.com/fairlead/fairlead/router/settings"
)

const usage = `operator makes routers of IngressControllers, Routes of Ingresses, and gives addresses to Services.

Examples:
  # In a pod, as config/default runs it:
  operator --router-image fairlead.dev/router:dev --domain apps.example.com

  # With a configuration file, whose fields docs/operator/configuration.md lists:
  operator --config /etc/fairlead/operator.yaml

  # Outside of the cluster, for development:
  operator --kubeconfig ~/.kube/config --leader-elect=false \
    --router-image fairlead.dev/router:dev --domain apps.example.com

  # The rights that it needs in AWS:
  operator iam-policy --cloud=aws --cloud-cluster=mycluster

  # The server of the canary, as its DaemonSet runs it:
  operator canary

  # Whether the routers at an address serve, as "helm test" asks:
  operator ask --address 198.18.0.11 --host canary-openshift-ingress-canary.apps.example.com

Flags:
`

type options struct {
	kubeconfig     string
	domain         string
	routerImage    string
	haproxyVersion string
	haproxyImages  images
	canaryImage    string
	canaryInterval time.Duration
	routes         int
	healthAddress  string
	metricsAddress string
	metricsOpen    bool
	leaderElect    bool
	classless      bool
	ingressLimits  [2]convert.Limits // of one Ingress, and of a namespace
	addresses      bool
	lbClasses      string
	log            logging.Options
	routerLog      logging.Options
	file           configFile
	aws            aws.Access
	dns            dnsOptions
	cloud          cloudOptions
}

// flags returns the flags, which set s.
func (s *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("operator", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` with the access to the cluster; by default that of the pod")
	f.StringVar(&s.domain, "domain", "", "`domain` of IngressControllers without spec.domain, such as apps.example.com")
	f.StringVar(&s.routerImage, "router-image", "", "container `image` of the routers (required)")
	f.StringVar(&s.haproxyVersion, "haproxy-version", "3.4", "`version` of HAProxy in --router-image")
	f.Var(&s.haproxyImages, "haproxy-image", "`VERSION=IMAGE`: container image of routers with another version of HAProxy, for IngressControllers with spec.haproxyVersion; may be repeated")
	f.StringVar(&s.canaryImage, "canary-image", "", "container `image` of the canary, that of this operator; empty for no canary")
	f.DurationVar(&s.canaryInterval, "canary-interval", canary.DefaultInterval, "time between two probes of the canary; one that failed is repeated after a quarter of it")
	f.IntVar(&s.routes, "router-routes", router.DefaultRoutes, "`number` of routes that the memory limits of a router have room for")
	f.StringVar(&s.healthAddress, "health-address", ":8081", "`address` for /healthz and /readyz")
	f.StringVar(&s.metricsAddress, "metrics-address", ":8080", "`address` for /metrics; 0 for none")
	f.BoolVar(&s.metricsOpen, "metrics-open", false, "serve /metrics over HTTP without authentication, instead of over HTTPS to tokens with the right to get /metrics")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "work only while holding the Lease fairlead-operator")
	f.BoolVar(&s.classless, "watch-ingress-without-class", true, "serve Ingresses that name no class, as OpenShift does")
	of, all := convert.DefaultLimits(), convert.DefaultNamespaceLimits()
	f.IntVar(&s.ingressLimits[0].Routes, "ingress-routes", of.Routes, "largest `number` of Routes that one Ingress may become")
	f.IntVar(&s.ingressLimits[1].Routes, "namespace-ingress-routes", all.Routes, "largest `number` of Routes that the Ingresses of a namespace may become together")
	f.IntVar(&s.ingressLimits[0].Secrets, "ingress-secrets", of.Secrets, "largest `number` of Secrets that one Ingress may name")
	f.IntVar(&s.ingressLimits[1].Secrets, "namespace-ingress-secrets", all.Secrets, "largest `number` of Secrets that the Ingresses of a namespace may name, counted for each Ingress")
	f.BoolVar(&s.addresses, "addresses", true, "give addresses of IPAddressPools to Services; false where MetalLB does so for good")
	f.StringVar(&s.lbClasses, "lb-class", "", "comma-separated load-balancer `classes` of the Services that get addresses, as the speakers have them (default: Services without a class, and "+api.LoadBalancerClass+")")
	s.log.Register(f)
	s.routerLog.RegisterFor(f, "router-", " of the routers")
	s.file.flags(f)
	awsFlags(f, &s.aws)
	s.dns.flags(f)
	s.cloud.flags(f)
	return f
}

func parse(args []string) (s options, err error) {
	f := s.flags()
	if err = f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	if err = s.file.read(f); err != nil {
		return s, err
	}
	return s, s.file.explain(s.validate())
}

// validate refuses what cannot work, whatever the cluster is like.
func (s *options) validate() error {
	switch {
	case s.routerImage == "":
		return errors.New("--router-image is required; see --help")
	case s.canaryInterval < leastCanaryInterval:
		return fmt.Errorf("--canary-interval must be at least %v; see --help", leastCanaryInterval)
	case s.routes < 1:
		return errors.New("--router-routes must be at least 1; see --help")
	case min(s.ingressLimits[0].Routes, s.ingressLimits[1].Routes, s.ingressLimits[0].Secrets, s.ingressLimits[1].Secrets) < 1:
		return errors.New("the limits of Ingresses must be at least 1; see --help")
	}
	return nil
}

// leastCanaryInterval bounds what the canary asks of the routers.
const leastCanaryInterval = 4 * time.Second

func (s *options) setupAddresses(mgr ctrl.Manager) error {
	if !s.addresses {
		return nil
	}
	return addresses.Setup(mgr, addresses.Options{Classes: s.classes()})
}

// classes are nil where the flag says nothing.
func (s *options) classes() *service.Classes {
	if s.lbClasses == "" {
		return nil
	}
	return &service.Classes{Names: strings.Split(s.lbClasses, ",")}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "iam-policy" {
		if err := iamPolicy(os.Args[2:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "operator iam-policy:", err)
			os.Exit(2)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "canary" {
		os.Exit(serveCanary(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "ask" {
		os.Exit(ask(context.Background(), os.Args[2:], os.Stdout))
	}
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(2)
	}
	logHandler := s.log.Handler(os.Stderr)
	slog.SetDefault(slog.New(logHandler))
	ctrl.SetLogger(logr.FromSlogHandler(logHandler))
	klog.SetSlogLogger(slog.Default())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err = s.file.explain(run(ctx, s))
	stop()
	if err != nil {
		slog.Error("operator stopped", "err", err)
		os.Exit(1)
	}
}

// serveCanary answers the probes of the operator, in pods of its own. It returns
// the exit code.
func serveCanary(args []string) int {
	var logs logging.Options
	f := flag.NewFlagSet("operator canary", flag.ContinueOnError)
	logs.Register(f)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case f.NArg() > 0:
		fmt.Fprintf(os.Stderr, "operator canary: unexpected argument %q; see --help\n", f.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := canary.ListenAndServe(ctx); err != nil {
		slog.New(logs.Handler(os.Stderr)).Error("canary stopped", "err", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, s options) error {
	config, err := restConfig(s.kubeconfig)
	if err != nil {
		return err
	}
	reconnect.Wrap(config, slog.Default())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), operator.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	if err := buildinfo.Register(metrics.Registry, "operator"); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if s.aws, err = observed(s.aws, metrics.Registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	s.aws.Cluster = awsClusterOf(config, scheme)
	names, err := s.dns.options(ctx, config, s.aws, s.cloud.cluster, s.cloud.webhook)
	if err != nil {
		return fmt.Errorf("set up DNS: %w", err)
	}
	names.Registerer = metrics.Registry
	managed := ctrl.Options{
		Scheme:                 scheme,
		Cache:                  operator.CacheOptions(config),
		Client:                 operator.ClientOptions(),
		HealthProbeBindAddress: s.healthAddress,
		Metrics:                scrape.Options(s.metricsAddress, s.metricsOpen),
	}
	leaderElection(&managed, s.leaderElect)
	mgr, err := ctrl.NewManager(config, managed)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defaults := effective.Defaults{
		Domain: s.domain, RouterImage: s.routerImage, HAProxyVersion: s.haproxyVersion, HAProxyImages: s.haproxyImages, Routes: s.routes, CloudClass: s.cloud.class(), Dialect: s.cloud.dialect(), RouterLog: s.routerLog.ArgsUnlessDefault(),
		DNS: names.Hook != nil, DNSByService: s.dns.provider == byService, DNSBaseDomain: s.dns.baseDomain, DNSZones: len(names.Zones) > 0, DNSTTL: s.dns.ttl,
	}
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping),
		operator.Setup(mgr, metrics.Registry, operator.Options{CanaryImage: s.canaryImage, CanaryInterval: s.canaryInterval, Defaults: defaults}),
		gateway.Setup(mgr, gateway.Options{Defaults: defaults}),
		dns.Setup(mgr, names),
		ingress.Setup(mgr, ingress.Options{Classless: s.classless, Registerer: metrics.Registry, Limits: s.ingressLimits[0], NamespaceLimits: s.ingressLimits[1]}),
		s.setupAddresses(mgr),
		s.cloud.setup(ctx, mgr, metrics.Registry, s.aws, names.Hook != nil),
	); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		if ctx.Err() != nil {
			writeStacks(os.Stderr)
		}
		return err //nolint:wrapcheck // it says what failed
	}
	return nil
}

// mostStacks bounds what is written of a process that does not end.
const mostStacks = 256 << 10

// writeStacks writes what the process is still doing: parts of it did not end in time though
// they were asked to, which is a fault of ours that the stacks name.
func writeStacks(to io.Writer) {
	text := make([]byte, mostStacks)
	_, _ = to.Write(text[:goruntime.Stack(text, true)])
}

// restConfig allows more than the default 20 queries per second, for thousands of Ingresses.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("find the cluster (outside of a pod, --kubeconfig is needed): %w", err)
	}
	config.QPS, config.Burst = 200, 400
	return config, nil
}
