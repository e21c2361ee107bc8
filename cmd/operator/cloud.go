package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	cloud "github.com/fairlead/fairlead/lbprovider/cloud/controller"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
	"github.com/fairlead/fairlead/operator/dnsrecord"
)

// cloudOptions are the flags about load balancers of a cloud.
type cloudOptions struct {
	hook          string
	cluster       string
	deleteOrphans bool

	vpc        string
	scheme     string
	targetType string
	nodeRules  bool
	drain      bool
	tags       string
	ownership  string

	unclassed bool

	url, ca, token, cert, key string
}

func (c *cloudOptions) flags(f *flag.FlagSet) {
	f.StringVar(&c.hook, "cloud", "none", "`cloud` that provides the load balancers of IngressControllers: aws, webhook or none")
	f.StringVar(&c.cluster, "cloud-cluster", "", "`name` of this cluster in the cloud's tags; required with --cloud, and never to be changed")
	f.BoolVar(&c.deleteOrphans, "cloud-delete-orphans", false, "delete load balancers whose Service does not exist any more, instead of only logging them")
	f.BoolVar(&c.unclassed, "cloud-default", false, "serve Services without a class, too: nothing else in the cluster must. Those with an annotation aws-load-balancer-type of external or nlb-ip are left alone")
	f.StringVar(&c.vpc, "aws-vpc", "", "`id` of the cluster's VPC; by default that of its nodes")
	f.StringVar(&c.scheme, "aws-scheme", string(hook.SchemeInternetFacing), "`scheme` of load balancers that name none: internet-facing or internal")
	f.StringVar(&c.targetType, "aws-target-type", "instance", "target `type` of load balancers that name none: instance or ip")
	f.BoolVar(&c.nodeRules, "aws-node-security-groups", true, "let load balancers into the security groups of nodes")
	f.BoolVar(&c.drain, "aws-drain-on-delete", false, "let connections end, for up to the targets' deregistration delay, before a load balancer is deleted")
	f.StringVar(&c.tags, "aws-tags", "", "`key=value,…` tags of everything that is made")
	f.StringVar(&c.ownership, "aws-ownership", stack.OwnershipNative, "`scheme` of the ownership tags: native, or lbc for the tags and the finalizer of the AWS Load Balancer Controller, which must not run then")
	f.StringVar(&c.url, "cloud-webhook", "", "`URL` of the webhook, for --cloud=webhook and --dns=webhook: https://…, or unix:///…")
	f.StringVar(&c.ca, "cloud-webhook-ca", "", "`file` with the CA of its certificate")
	f.StringVar(&c.token, "cloud-webhook-token", "", "`file` with the bearer token; it is read at every call")
	f.StringVar(&c.cert, "cloud-webhook-cert", "", "`file` with the client certificate; it is read at every handshake")
	f.StringVar(&c.key, "cloud-webhook-key", "", "`file` with its key")
}

// class is the load-balancer class that is ours, or "".
func (c *cloudOptions) class() string {
	switch c.hook {
	case "aws":
		return api.LoadBalancerClassAWS
	case "webhook":
		return api.LoadBalancerClassWebhook
	}
	return ""
}

// dialect is that of the annotations of Services. Without a hook, what an earlier
// one was asked for can still be read.
func (c *cloudOptions) dialect() hook.Dialect {
	return stack.Dialect{AnyPlatform: c.hook == "webhook"}
}

// setup adds the controller to mgr, if a cloud is chosen. Named says that the
// operator publishes names.
func (c *cloudOptions) setup(ctx context.Context, mgr ctrl.Manager, registry prometheus.Registerer, access aws.Access, named bool) error {
	if c.hook == "none" || c.hook == "" {
		return nil
	}
	if c.cluster == "" {
		return errors.New("--cloud needs --cloud-cluster, the name of this cluster in the cloud")
	}
	h, err := c.choose(ctx, access)
	if err != nil {
		return fmt.Errorf("set up --cloud=%s: %w", c.hook, err)
	}
	o := cloud.Options{Hook: h, Cluster: c.cluster, Class: c.class(), DeleteOrphans: c.deleteOrphans, Registerer: registry}
	if named {
		o.NamePending = dnsrecord.NamePending(mgr.GetClient())
	}
	if c.unclassed {
		o.Default = unclassed
	}
	if c.hook == "aws" && c.ownership == stack.OwnershipLBC {
		o.Finalizers, o.RivalLease = []string{stack.FinalizerLBC}, stack.LeaseLBC
	}
	return cloud.Setup(mgr, o)
}

// unclassed reports whether a Service without a class is left to the default:
// two values of an old annotation mean the AWS Load Balancer Controller.
func unclassed(s *corev1.Service) bool {
	kind := s.Annotations[stack.AnnotationPrefix+"aws-load-balancer-type"]
	return kind != "external" && kind != "nlb-ip"
}

func (c *cloudOptions) choose(ctx context.Context, access aws.Access) (hook.LoadBalancerHook, error) {
	switch c.hook {
	case "aws":
		return c.aws(ctx, access)
	case "webhook":
		return c.webhook()
	}
	return nil, fmt.Errorf("--cloud: unknown cloud %q; use one of: none, aws, webhook", c.hook)
}

func (c *cloudOptions) aws(ctx context.Context, access aws.Access) (hook.LoadBalancerHook, error) {
	if c.ownership != stack.OwnershipNative && c.ownership != stack.OwnershipLBC {
		return nil, fmt.Errorf("--aws-ownership: unknown owner %q; use one of: native, lbc", c.ownership)
	}
	cfg, err := aws.Config(ctx, access)
	if err != nil {
		return nil, err
	}
	tags, err := stack.ParseTags(c.tags)
	if err != nil {
		return nil, fmt.Errorf("--aws-tags: %w", err)
	}
	h := aws.New(cfg, aws.Options{Cluster: c.cluster, VPC: c.vpc, DrainOnDelete: c.drain, Defaults: stack.Defaults{
		Scheme: hook.Scheme(c.scheme), TargetType: c.targetType, NodeRules: c.nodeRules, Tags: tags, Ownership: c.ownership,
	}})
	// Who we are to AWS is worth a line; that it cannot be found out does not
	// keep the operator from its other work, and the conditions will say so.
	go func() {
		if identity, err := h.Identity(ctx); err == nil {
			slog.Info("load balancers of AWS", "as", identity, "cluster", c.cluster)
		} else if ctx.Err() == nil {
			slog.Error("cannot read the identity of the AWS credentials", "err", err)
		}
	}()
	return h, nil
}

// webhook is the server that is asked for load balancers, names or both.
func (c *cloudOptions) webhook() (*webhook.Client, error) {
	o := webhook.Options{URL: c.url}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, fmt.Errorf("--cloud-webhook-ca: %w", err)
		}
		o.CA = pem
	}
	if c.token != "" {
		o.Token = func() (string, error) {
			text, err := os.ReadFile(c.token)
			return strings.TrimSpace(string(text)), err
		}
	}
	if c.cert != "" {
		o.Certificate = func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.cert, c.key)
			return &pair, err
		}
	}
	return webhook.New(o)
}
