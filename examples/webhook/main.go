// Command webhook is an example of a webhook for Fairlead's cloud hook, to begin
// one's own from. It has a cloud in memory, or AWS, which keeps the AWS SDK and
// its credentials out of the operator:
//
//	go run ./examples/webhook --listen 127.0.0.1:8443
//	go run ./test/hookconformance/cmd --url http://127.0.0.1:8443
//
// docs/cloud/webhook.md describes the protocol.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/examples/webhook/memory"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/route53"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

type settings struct {
	listen    listen
	hook      string
	addresses string
	zone      string
	cluster   string
	vpc       string
	poll      time.Duration
	access    aws.Access
}

func run(ctx context.Context, args []string) error {
	var s settings
	f := flag.NewFlagSet("webhook", flag.ContinueOnError)
	s.listen.flags(f)
	f.StringVar(&s.hook, "hook", "memory", "`cloud` that load balancers are made in: memory or aws")
	f.StringVar(&s.addresses, "addresses", "198.18.200.0/24", "`range` of the addresses of load balancers in memory")
	f.StringVar(&s.zone, "zone", "example.com", "`name` of the zone in memory")
	f.StringVar(&s.cluster, "cluster", "", "`name` of the cluster in AWS; the same as the operator's --cloud-cluster")
	f.StringVar(&s.vpc, "aws-vpc", "", "`id` of the cluster's VPC; by default that of its nodes")
	f.DurationVar(&s.poll, "aws-poll", 15*time.Second, "how `often` AWS is asked for what is under way")
	f.StringVar(&s.access.Region, "aws-region", "", "AWS `region`; by default what AWS_REGION or the machine says")
	f.StringVar(&s.access.Endpoint, "aws-endpoint", "", "`URL` in place of AWS's own addresses, for tests")
	f.StringVar(&s.access.Credentials, "aws-credentials", "", "`folder` that a Secret with credentials is mounted as")
	if err := f.Parse(args); err != nil {
		return err
	}
	handler, err := s.handler(ctx)
	if err != nil {
		return err
	}
	return s.listen.serve(ctx, handler)
}

// handler returns the protocol around the hook that is chosen.
func (s *settings) handler(ctx context.Context) (*webhook.Handler, error) {
	switch s.hook {
	case "memory":
		addresses, err := netip.ParsePrefix(s.addresses)
		if err != nil {
			return nil, fmt.Errorf("--addresses: %w", err)
		}
		return &webhook.Handler{Balancers: memory.New(addresses), Names: memory.NewNames(strings.TrimSuffix(s.zone, ".") + ".")}, nil
	case "aws":
		if s.cluster == "" {
			return nil, errors.New("--hook=aws needs --cluster")
		}
		cfg, err := aws.Config(ctx, s.access)
		if err != nil {
			return nil, err
		}
		h := aws.New(cfg, aws.Options{Cluster: s.cluster, VPC: s.vpc, Poll: s.poll, Defaults: stack.Defaults{NodeRules: true}, Log: slog.Default()})
		return &webhook.Handler{Balancers: h, Names: route53.New(route53.Options{Public: cfg, Private: cfg})}, nil
	}
	return nil, fmt.Errorf("--hook: unknown hook %q; use memory or aws", s.hook)
}
