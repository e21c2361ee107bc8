// Package allocation measures a restart of the address controller: how long
// until everybody who holds an address has been heard and the next Service gets
// its own, how many addresses change (none), and what is written (nothing).
// API server, controller and client are the real ones.
package allocation

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// Result is what one run measured.
type Result struct {
	Services int
	// First is how long the first allocation took, from the start of the
	// controller to the last address, within a few seconds.
	First time.Duration
	// Restart is from the start of the second controller until a new Service
	// has its address, which it gets after all holders were heard.
	Restart time.Duration
	// Changed are the Services whose address, or anything else, was changed by
	// the restart.
	Changed int
	// Writes are the requests by which the second controller changed anything
	// but the new Service.
	Writes int
	// Written are all requests of the second controller that changed anything,
	// by kind and answer, as the API server's metrics name them.
	Written []string
}

// String returns the result as a line of the report.
func (r Result) String() string {
	return fmt.Sprintf("%d services: first allocation %v; restart %v, %d changed, %d needless writes",
		r.Services, r.First.Round(time.Millisecond), r.Restart.Round(time.Millisecond), r.Changed, r.Writes)
}

// bench is one run.
type bench struct {
	client.Client
	server *cluster.APIServer
	rest   *rest.Config
	scheme *runtime.Scheme
	log    *slog.Logger
}

// Run measures with this many Services. The API server must have the provider's
// types and namespace, and no Service of type LoadBalancer.
func Run(ctx context.Context, server *cluster.APIServer, c client.Client, services int, log *slog.Logger) (Result, error) {
	restConfig, err := server.RESTConfig()
	if err != nil {
		return Result{}, fmt.Errorf("find the API server: %w", err)
	}
	restConfig.QPS = -1 // the machine's limit, not the client's
	b := &bench{Client: c, server: server, rest: restConfig, scheme: c.Scheme(), log: log}
	result := Result{Services: services}
	if err := b.prepare(ctx, services); err != nil {
		return result, err
	}
	started := time.Now()
	stop, err := b.start(ctx)
	if err != nil {
		return result, err
	}
	err = b.until(ctx, func(all map[string]corev1.Service) bool { return served(all) == services })
	if err != nil {
		stop()
		return result, fmt.Errorf("first allocation: %w", err)
	}
	result.First = time.Since(started)
	if err := b.quiet(ctx); err != nil {
		stop()
		return result, err
	}
	stop()
	return b.restart(ctx, result)
}

// restart starts a second controller beside what the first one left.
func (b *bench) restart(ctx context.Context, result Result) (Result, error) {
	before, err := b.services(ctx)
	if err != nil {
		return result, err
	}
	marker := service(result.Services)
	if err := b.Create(ctx, marker); err != nil {
		return result, fmt.Errorf("create the new service: %w", err)
	}
	writes, err := b.writes(ctx)
	if err != nil {
		return result, err
	}
	started := time.Now()
	stop, err := b.start(ctx)
	if err != nil {
		return result, err
	}
	defer stop()
	err = wait.Poll{Limit: wait.NoLimit, Every: 5 * time.Millisecond}.Until(ctx, "the new service has an address", func() error {
		if err := b.Get(ctx, client.ObjectKeyFromObject(marker), marker); err != nil {
			return wait.GiveUp(fmt.Errorf("get the new service: %w", err))
		}
		return wait.True(len(marker.Status.LoadBalancer.Ingress) > 0)
	})
	if err != nil {
		return result, err
	}
	result.Restart = time.Since(started)
	if err := b.quiet(ctx); err != nil {
		return result, err
	}
	now, err := b.writes(ctx)
	if err != nil {
		return result, err
	}
	// Of the new Service: its creation came before, its status and an event,
	// and once each the counts of its pool and the list of who uses what.
	result.Writes = max(0, sum(now)-sum(writes)-4)
	for what, n := range now {
		if n > writes[what] {
			result.Written = append(result.Written, fmt.Sprintf("%d %s", n-writes[what], what))
		}
	}
	after, err := b.services(ctx)
	if err != nil {
		return result, err
	}
	for name, was := range before {
		if is, ok := after[name]; !ok || is.ResourceVersion != was.ResourceVersion {
			result.Changed++
		}
	}
	return result, nil
}

// prepare makes a pool and the Services.
func (b *bench) prepare(ctx context.Context, services int) error {
	pool := &v1beta1.IPAddressPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: "bench"},
		Spec:       v1beta1.IPAddressPoolSpec{Addresses: []string{"198.18.0.0/16"}},
	}
	if err := b.Create(ctx, pool); err != nil {
		return fmt.Errorf("create pool: %w", err)
	}
	fast, err := client.New(b.rest, client.Options{Scheme: b.scheme})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	next, failed := make(chan int), make(chan error, 8)
	for range cap(failed) {
		go func() {
			var first error
			for i := range next {
				if err := fast.Create(ctx, service(i)); err != nil && first == nil {
					first = fmt.Errorf("create service %d: %w", i, err)
				}
			}
			failed <- first
		}()
	}
	for i := range services {
		next <- i
	}
	close(next)
	for range cap(failed) {
		if e := <-failed; e != nil && err == nil {
			err = e
		}
	}
	return err
}

// service returns the n-th Service. It has no node ports, of which there are
// fewer than 3,000.
func service(n int) *corev1.Service {
	no := false
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("bench-%05d", n)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &no,
			Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "bench"},
		},
	}
}

// start runs a controller until stop.
func (b *bench) start(ctx context.Context) (stop func(), err error) {
	again := true
	mgr, err := ctrl.NewManager(b.rest, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		return nil, fmt.Errorf("make a controller: %w", err)
	}
	if err := controller.Setup(mgr, controller.Options{Registerer: prometheus.NewRegistry(), Log: b.log}); err != nil {
		return nil, fmt.Errorf("make a controller: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.log.Error("controller", "err", err)
		}
	}, nil
}

func (b *bench) services(ctx context.Context) (map[string]corev1.Service, error) {
	var list corev1.ServiceList
	if err := b.List(ctx, &list, client.InNamespace("default")); err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	all := map[string]corev1.Service{}
	for _, s := range list.Items {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			all[s.Name] = s
		}
	}
	return all, nil
}

// served counts the Services that have an address of their own.
func served(all map[string]corev1.Service) int {
	seen := map[netip.Addr]bool{}
	for _, s := range all {
		for _, in := range s.Status.LoadBalancer.Ingress {
			if addr, err := netip.ParseAddr(in.IP); err == nil {
				seen[addr] = true
			}
		}
	}
	return len(seen)
}

// until polls until the Services are as wanted: not often, because to list 10,000
// takes both sides a second.
func (b *bench) until(ctx context.Context, wanted func(map[string]corev1.Service) bool) error {
	return wait.Poll{Limit: wait.NoLimit, Every: 3 * time.Second}.Until(ctx, "the addresses of the services", func() error {
		all, err := b.services(ctx)
		switch {
		case err != nil:
			return wait.GiveUp(err)
		case !wanted(all):
			return fmt.Errorf("%d of %d services have an address", served(all), len(all))
		}
		return nil
	})
}

// quiet waits until nothing has been written for 4 seconds, which is longer
// than any delay of the controller.
func (b *bench) quiet(ctx context.Context) error {
	last, same := -1, 0
	return wait.Poll{Limit: wait.NoLimit, Every: time.Second}.Until(ctx, "nothing is written", func() error {
		now, err := b.writes(ctx)
		if err != nil {
			return wait.GiveUp(err)
		}
		if same++; sum(now) != last {
			last, same = sum(now), 0
		}
		if same < 4 {
			return fmt.Errorf("%d writes, and none for %d seconds", last, same)
		}
		return nil
	})
}

// writes counts the requests that changed Services, events or objects of the
// provider, by the labels of the API server's own metrics.
func (b *bench) writes(ctx context.Context) (map[string]int, error) {
	text, err := b.server.Kubectl(ctx, "get", "--raw", "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	all := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\n") {
		labels, value, found := strings.Cut(strings.TrimPrefix(line, "apiserver_request_total{"), "} ")
		if !found || !strings.HasPrefix(line, "apiserver_request_total{") || strings.Contains(labels, `verb="GET"`) ||
			strings.Contains(labels, `verb="LIST"`) || strings.Contains(labels, `verb="WATCH"`) {
			continue
		}
		ours := strings.Contains(labels, `group="metallb.io"`) || strings.Contains(labels, `group="fairlead.dev"`) ||
			strings.Contains(labels, `resource="services"`) || strings.Contains(labels, `resource="events"`)
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", line, err)
		}
		if ours {
			all[labels] = int(n)
		}
	}
	return all, nil
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
