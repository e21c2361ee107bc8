package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	registry "github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/externaldns"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/externaldnsprovider"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/rfc2136"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/route53"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
	"github.com/fairlead/fairlead/operator/dns"
)

// dnsOptions are the flags about names.
type dnsOptions struct {
	provider     string
	owner        string
	zones        zoneList
	privateZones zoneList
	privateRole  string
	server       string
	keyDir       string
	drain        time.Duration
	ttl          time.Duration
	baseDomain   string
	webhook      string
	registry     registry.Registry
	noted        string
}

// byService is the value of --dns that leaves names to an external-dns that
// reads Services.
const byService = "external-dns-service"

func (d *dnsOptions) flags(f *flag.FlagSet) {
	f.StringVar(&d.provider, "dns", "none", "`provider` that publishes the wildcard names of IngressControllers: none, rfc2136, route53, webhook (as --cloud-webhook), external-dns (by DNSEndpoint objects), external-dns-service (by annotations of Services) or external-dns-webhook (a provider of external-dns, without external-dns)")
	f.StringVar(&d.owner, "dns-owner", "", "`id` of this cluster in the records that it owns; each cluster needs its own. By default fairlead- and --cloud-cluster, or fairlead")
	f.StringVar(&d.noted, "dns-registry", "txt", "`registry` of the owners of records (rfc2136, route53, external-dns-webhook): txt for a TXT record beside each, or none, which replaces any record of the name")
	f.StringVar(&d.registry.Prefix, "dns-txt-prefix", "", "`text` before the names of those TXT records, as external-dns has it; %{record_type} in it is the type of the record")
	f.StringVar(&d.registry.Suffix, "dns-txt-suffix", "", "`text` behind the first label of those names; as --dns-txt-prefix, instead of it")
	f.StringVar(&d.registry.Wildcard, "dns-txt-wildcard", "wild", "`word` for * in those names")
	f.Var(&d.zones, "dns-zone", "`zone` to publish in: its name (rfc2136), its id or key=value,… tags (route53, webhook); may be repeated. By default that of dns.config.openshift.io/cluster, else the one that the name lies in")
	f.Var(&d.privateZones, "dns-private-zone", "private `zone`, as --dns-zone; may be repeated")
	f.StringVar(&d.privateRole, "dns-private-zone-role", "", "`ARN` of the role for private zones of another account (route53). By default that of dns.config.openshift.io/cluster")
	f.DurationVar(&d.drain, "dns-drain", time.Minute, "longest `time` that the target of a removed name is kept, until the name's TTL has passed at resolvers")
	f.DurationVar(&d.ttl, "dns-ttl", 30*time.Second, "`time` that resolvers may keep a published name, 1s to 24h in whole seconds; aliases of Route 53 have a minute")
	f.StringVar(&d.baseDomain, "dns-base-domain", "", "`domain` that names are published in; the operator publishes no other names. By default that of dns.config.openshift.io/cluster, unless zones are named")
	f.StringVar(&d.webhook, "external-dns-webhook", "http://127.0.0.1:8888", "`URL` of the provider (external-dns-webhook), mostly a container beside the operator")
	f.StringVar(&d.server, "rfc2136-server", "", "`host:port` of the primary DNS server (rfc2136)")
	f.StringVar(&d.keyDir, "rfc2136-key", "", "`folder` with the files name, secret and algorithm of the key that signs updates (rfc2136)")
}

// zoneList is a flag of zones: an id or name, or tags.
type zoneList []configv1.DNSZone

func (z *zoneList) String() string { return fmt.Sprint([]configv1.DNSZone(*z)) }

// Set adds a zone.
func (z *zoneList) Set(s string) error {
	if !strings.Contains(s, "=") {
		*z = append(*z, configv1.DNSZone{ID: s})
		return nil
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return fmt.Errorf("%q is not key=value", pair)
		}
		tags[k] = v
	}
	*z = append(*z, configv1.DNSZone{Tags: tags})
	return nil
}

// asking returns the client of the webhook that the flags name.
type asking func() (*webhook.Client, error)

// options returns what the flags mean, for a cluster of a name, which may be
// empty.
func (d *dnsOptions) options(ctx context.Context, config *rest.Config, access aws.Access, cluster string, ask asking) (dns.Options, error) {
	o := dns.Options{Owner: d.owner, Drain: d.drain}
	if o.Owner == "" {
		o.Owner = strings.TrimSuffix("fairlead-"+cluster, "-")
	}
	for _, z := range d.privateZones {
		o.Zones = append(o.Zones, dns.Zone{DNSZone: z, Private: true})
	}
	for _, z := range d.zones {
		o.Zones = append(o.Zones, dns.Zone{DNSZone: z})
	}
	switch {
	case d.noted != "txt" && d.noted != "none":
		return o, fmt.Errorf("--dns-registry: %q is neither txt nor none", d.noted)
	case d.ttl < time.Second || d.ttl > 24*time.Hour || d.ttl%time.Second != 0:
		return o, fmt.Errorf("--dns-ttl: %v is not 1s to 24h in whole seconds", d.ttl)
	case d.registry.Prefix != "" && d.registry.Suffix != "":
		return o, errors.New("--dns-txt-prefix and --dns-txt-suffix exclude each other, as with external-dns")
	}
	d.registry.None = d.noted == "none"
	if d.provider == "route53" && d.privateRole == "" {
		var err error
		if d.privateRole, err = roleOf(ctx, config); err != nil {
			return o, err
		}
	}
	var err error
	o.Hook, err = d.hook(ctx, config, access, ask)
	return o, err
}

// roleOf returns the role that the cluster's DNS object has for private zones,
// or "".
func roleOf(ctx context.Context, config *rest.Config) (string, error) {
	scheme := runtime.NewScheme()
	if err := configv1.Install(scheme); err != nil {
		return "", fmt.Errorf("register types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return "", fmt.Errorf("reach the cluster: %w", err)
	}
	spec, err := dns.ReadCluster(ctx, c)
	return dns.PrivateZoneRole(spec), err
}

func (d *dnsOptions) hook(ctx context.Context, config *rest.Config, access aws.Access, ask asking) (hook.DNSHook, error) {
	switch d.provider {
	case "none", "", byService:
		return nil, nil
	case "rfc2136":
		return d.rfc2136()
	case "route53":
		return d.route53(ctx, access)
	case "external-dns":
		c, err := client.New(config, client.Options{})
		if err != nil {
			return nil, fmt.Errorf("reach the cluster: %w", err)
		}
		return externaldns.New(c), nil
	case "external-dns-webhook":
		p, err := externaldnsprovider.New(externaldnsprovider.Options{URL: d.webhook, Registry: d.registry})
		if err != nil {
			return nil, fmt.Errorf("--external-dns-webhook: %w", err)
		}
		return p, nil
	case "webhook":
		c, err := ask()
		if err != nil {
			return nil, fmt.Errorf("--dns=webhook: %w", err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("--dns: unknown DNS provider %q; use one of: none, rfc2136, route53, webhook, external-dns, external-dns-service, external-dns-webhook", d.provider)
}

func (d *dnsOptions) route53(ctx context.Context, access aws.Access) (hook.DNSHook, error) {
	public, err := aws.Config(ctx, access)
	if err != nil {
		return nil, err
	}
	private := public
	if d.privateRole != "" {
		access.RoleARN = d.privateRole
		if private, err = aws.Config(ctx, access); err != nil {
			return nil, err
		}
	}
	return route53.New(route53.Options{Public: public, Private: private, Registry: d.registry}), nil
}

func (d *dnsOptions) rfc2136() (hook.DNSHook, error) {
	o := rfc2136.Options{Server: d.server, Registry: d.registry}
	if d.keyDir != "" {
		if _, err := rfc2136.ReadKey(d.keyDir); err != nil {
			return nil, fmt.Errorf("--rfc2136-key: %w", err)
		}
		o.Key = func() (*rfc2136.Key, error) { return rfc2136.ReadKey(d.keyDir) }
	}
	p, err := rfc2136.New(o)
	if err != nil {
		return nil, fmt.Errorf("--rfc2136-server: %w", err)
	}
	return p, nil
}
