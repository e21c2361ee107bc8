// Package collect reads from a cluster what package check judges: objects, as far as the
// user's rights go, what the speakers report, and how the routers' addresses answer this
// machine. It judges nothing.
package collect

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/lbprovider/othermetallb"
)

// Options say what to read.
type Options struct {
	// Namespace is read where not all of them may be listed.
	Namespace string
	// Router is the only IngressController; empty for all.
	Router string
	// Probe asks the routers' addresses and names from this machine.
	Probe bool
	// Traffic asks the routers twice, a second apart, what they serve.
	Traffic bool
	// Routes are those of all namespaces, where they are known; nil has them read.
	Routes []routev1.Route
	// WithoutSecrets leaves the certificates in Secrets unread.
	WithoutSecrets bool
	// Now is the clock of this machine.
	Now func() time.Time
}

// forbidden is why something could not be read for lack of rights.
const forbidden = "you have no right to"

// reader collects. Its methods may be called from several goroutines.
type reader struct {
	client   client.Client
	config   *rest.Config
	options  Options
	snapshot *check.Snapshot

	// What only the decisions about addresses need.
	l2             []v1beta1.ServiceL2Status
	bgp            []v1beta1.ServiceBGPStatus
	advertisements []v1beta1.L2Advertisement

	mu sync.Mutex // guards snapshot.Sources
}

// Read reads a cluster. It fails if the cluster does not answer, or has no
// IngressController of the wanted name.
func Read(ctx context.Context, config *rest.Config, options Options) (*check.Snapshot, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 100, 200
	clock := &serverClock{}
	config.Wrap(clock.wrap)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme,
		routev1.AddToScheme, operatorv1.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	r := &reader{client: c, config: config, options: options, snapshot: &check.Snapshot{Sources: map[check.Source]check.Reading{}, Chains: map[string]string{}}}
	if err := r.version(clock); err != nil {
		return nil, err
	}
	together(ctx, r.lists())
	if options.WithoutSecrets {
		r.gap(check.SourceSecrets, check.Reading{Why: "they were not to be read", Skipped: true})
		together(ctx, []func(context.Context){r.addresses})
	} else {
		together(ctx, []func(context.Context){r.secrets, r.addresses})
	}
	s := r.snapshot
	if options.Router != "" && !s.Narrow(options.Router) {
		return nil, fmt.Errorf("there is no IngressController %s", options.Router)
	}
	together(ctx, []func(context.Context){r.reach, r.traffic})
	return s, nil
}

// version reads the version and the time of the API server.
func (r *reader) version(clock *serverClock) error {
	d, err := discovery.NewDiscoveryClientForConfig(r.config)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", r.config.Host, err)
	}
	r.snapshot.Here = r.options.Now()
	r.snapshot.Now = r.snapshot.Here
	v, err := d.ServerVersion()
	switch {
	case apierrors.IsForbidden(err):
		r.gap(check.SourceVersion, check.Reading{Why: forbidden})
		return nil
	case err != nil:
		return fmt.Errorf("ask cluster %s: %w", r.config.Host, err)
	}
	r.snapshot.Kubernetes = v.GitVersion
	if at := clock.time(); !at.IsZero() {
		r.snapshot.Now = at
	}
	return nil
}

func (r *reader) gap(source check.Source, reading check.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot.Sources[source] = reading
}

// kinds finds out which kinds the API server has not.
func (r *reader) kinds(context.Context) {
	for _, k := range check.KindsNeeded() {
		_, err := r.client.RESTMapper().RESTMapping(schema.GroupKind{Group: k.Group, Kind: k.Name})
		switch {
		case err == nil:
		case meta.IsNoMatchError(err):
			r.snapshot.MissingKinds = append(r.snapshot.MissingKinds, k)
		default:
			r.gap(check.SourceKinds, check.Reading{Why: reason(err)})
			return
		}
	}
}

func (r *reader) otherMetalLB(ctx context.Context) {
	found, err := othermetallb.Find(ctx, r.client)
	if err != nil {
		r.gap(check.SourceOtherMetalLB, check.Reading{Why: reason(err)})
		return
	}
	for _, w := range found {
		r.snapshot.OtherMetalLB = append(r.snapshot.OtherMetalLB, w.String())
	}
}

func reason(err error) string {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return forbidden
	}
	return err.Error()
}

// serverClock notes the time of the API server's answers.
type serverClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(req)
		if err == nil {
			if at, badDate := http.ParseTime(answer.Header.Get("Date")); badDate == nil {
				c.mu.Lock()
				c.at = at
				c.mu.Unlock()
			}
		}
		return answer, err
	})
}

func (c *serverClock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
