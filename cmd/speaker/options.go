package main

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/service"
)

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

func (o *options) validate() error {
	if o.nodeName == "" || o.bindAddress == "" {
		return errors.New("the flags -node-name and -bind-address are needed (or $NODE_NAME and $HOST_IP)")
	}
	return nil
}
