package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// options are the command line.
type options struct {
	nodeName, podName             string
	namespace, bindAddress        string
	bindPort                      int
	secret, speakers              string
	healthAddress, metricsAddress string
	metricsOpen                   bool
	pprofAddress                  string
	lbClasses                     string
	ignoreExclude                 bool
	isolation                     string
	refresh                       interval
	excluded                      string
	gossipProfile                 liveness.Profile
	log                           logging.Options
}

func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.nodeName, "node-name", os.Getenv("NODE_NAME"), "name of the node (default: $NODE_NAME)")
	fs.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "name of the speaker's own pod, with which its status objects go (default: $POD_NAME)")
	fs.StringVar(&o.namespace, "namespace", api.ProviderNamespace, "namespace of pools, advertisements and speakers")
	fs.StringVar(&o.bindAddress, "bind-address", os.Getenv("HOST_IP"), "address for the gossip among speakers (default: $HOST_IP)")
	fs.IntVar(&o.bindPort, "bind-port", 7946, "TCP and UDP port for the gossip among speakers")
	fs.StringVar(&o.secret, "memberlist-secret", "memberlist", "Secret whose key \"secretkey\" encrypts the gossip; the speaker waits for it; empty: no encryption")
	fs.StringVar(&o.speakers, "speaker-selector", "app.kubernetes.io/component=speaker", "labels of the speakers' pods")
	fs.StringVar(&o.healthAddress, "health-address", "127.0.0.1:17472", "address for probes and /debug/l2")
	fs.StringVar(&o.metricsAddress, "metrics-address", ":7472", "address for /metrics; 0: none")
	fs.BoolVar(&o.metricsOpen, "metrics-open", false, "serve /metrics over HTTP without authentication, instead of over HTTPS to tokens with the right to get /metrics")
	fs.StringVar(&o.pprofAddress, "pprof-address", "", "address for Go's profiles, such as 127.0.0.1:6060; empty: none")
	fs.StringVar(&o.lbClasses, "lb-class", "", "comma-separated load-balancer classes to serve (default: services without a class, and "+api.LoadBalancerClass+")")
	fs.BoolVar(&o.ignoreExclude, "ignore-exclude-lb", false, "announce also from nodes with the label "+api.LabelExcludeFromLoadBalancers)
	fs.StringVar(&o.isolation, "l2-isolation", isolationWithdraw, "what a speaker does that reaches neither the API server nor half of the other speakers: withdraw or announce")
	o.refresh = interval(l2.DefaultRefresh)
	fs.Var(&o.refresh, "gratuitous-arp-interval", "pause between unasked announcements of an address, such as 90s, or a number of seconds; 0: only when it moves")
	fs.StringVar(&o.excluded, "exclude-interfaces", "", "comma-separated regular expressions of interface names never to announce on, instead of those that lead to pods and virtual machines")
	fs.TextVar(&o.gossipProfile, "gossip-profile", liveness.Fast, "how fast dead speakers are noticed: fast (1 to 2 s), lan (5 to 10 s) or wan (half a minute to one), for networks that lose packets or are slow")
	o.log.Register(fs)
}

func (o *options) classes() service.Classes {
	if o.lbClasses == "" {
		return service.DefaultClasses()
	}
	return service.Classes{Names: strings.Split(o.lbClasses, ",")}
}

// excludedInterfaces returns nil for the default.
func (o *options) excludedInterfaces() []string {
	if o.excluded == "" {
		return nil
	}
	return strings.Split(o.excluded, ",")
}

// The values of -l2-isolation.
const (
	isolationWithdraw = "withdraw"
	isolationAnnounce = "announce"
)

func (o *options) validate() error {
	if o.isolation != isolationWithdraw && o.isolation != isolationAnnounce {
		return fmt.Errorf("flag -l2-isolation %q: write %s or %s", o.isolation, isolationWithdraw, isolationAnnounce)
	}
	if o.nodeName == "" || o.bindAddress == "" {
		return errors.New("the flags -node-name and -bind-address are needed (or $NODE_NAME and $HOST_IP)")
	}
	return nil
}

// interval is a duration that may also be written as a number of seconds, as
// MetalLB's flag wants it.
type interval time.Duration

// Set implements flag.Value.
func (i *interval) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		*i = interval(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write a duration such as 90s, or a number of seconds")
	}
	*i = interval(d)
	return nil
}

func (i *interval) String() string { return time.Duration(*i).String() }
