package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/service"
)

const secretRetry = time.Second

// options are the command line.
type options struct {
	nodeName, namespace, bindAddress string
	bindPort                         int
	secret, speakers                 string
	healthAddress, metricsAddress    string
	lbClasses                        string
	ignoreExclude                    bool
	refresh                          time.Duration
	logLevel                         slog.Level
}

func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.nodeName, "node-name", os.Getenv("NODE_NAME"), "name of the node (default: $NODE_NAME)")
	fs.StringVar(&o.namespace, "namespace", api.ProviderNamespace, "namespace of pools, advertisements and speakers")
	fs.StringVar(&o.bindAddress, "bind-address", os.Getenv("HOST_IP"), "address for the gossip among speakers (default: $HOST_IP)")
	fs.IntVar(&o.bindPort, "bind-port", 7946, "TCP and UDP port for the gossip among speakers")
	fs.StringVar(&o.secret, "memberlist-secret", "memberlist", "Secret whose key \"secretkey\" encrypts the gossip; the speaker waits for it; empty: no encryption")
	fs.StringVar(&o.speakers, "speaker-selector", "app.kubernetes.io/component=speaker", "labels of the speakers' pods")
	fs.StringVar(&o.healthAddress, "health-address", "127.0.0.1:17472", "address for probes and /debug/l2")
	fs.StringVar(&o.metricsAddress, "metrics-address", ":7472", "address for /metrics; 0: none")
	fs.StringVar(&o.lbClasses, "lb-class", "", "comma-separated load-balancer classes to serve (default: services without a class, and "+api.LoadBalancerClass+")")
	fs.BoolVar(&o.ignoreExclude, "ignore-exclude-lb", false, "announce also from nodes with the label "+api.LabelExcludeFromLoadBalancers)
	fs.DurationVar(&o.refresh, "gratuitous-arp-interval", l2.DefaultRefresh, "pause between unasked announcements of an address; 0: only when it moves")
	fs.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
}

func (o *options) classes() service.Classes {
	if o.lbClasses == "" {
		return service.DefaultClasses()
	}
	return service.Classes{Names: strings.Split(o.lbClasses, ",")}
}

// newManager makes the manager. Of pods, it caches the speakers' only.
func newManager(o *options, speakers labels.Selector) (ctrl.Manager, error) {
	if o.nodeName == "" || o.bindAddress == "" {
		return nil, errors.New("the flags -node-name and -bind-address are needed (or $NODE_NAME and $HOST_IP)")
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	grace := 2 * time.Second
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		GracefulShutdownTimeout: &grace,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}: {Namespaces: map[string]cache.Config{o.namespace: {}}, Label: speakers},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return mgr, nil
}

// readSecret waits for the key of the gossip. A speaker without it could not
// talk to the others, and would take their addresses.
func readSecret(ctx context.Context, reader client.Reader, o *options, log *slog.Logger) ([]byte, error) {
	if o.secret == "" {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: o.namespace, Name: o.secret}
	for told := ""; ; {
		var secret corev1.Secret
		err := reader.Get(ctx, name, &secret)
		if err == nil && len(secret.Data["secretkey"]) > 0 {
			return secret.Data["secretkey"], nil
		}
		switch {
		case apierrors.IsNotFound(err):
			err = errors.New("it does not exist yet; the operator makes it")
		case err == nil:
			err = errors.New("it has no key \"secretkey\"")
		}
		if told != err.Error() {
			told = err.Error()
			log.Info("waiting for the secret of the speakers", "secret", name.String(), "reason", told)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for secret %s: %w", name, ctx.Err())
		case <-time.After(secretRetry):
		}
	}
}
